// An attribution as text for people and as JSON for machines.
#include <fmt/format.h>

#include <boost/json.hpp>

#include "analysis/chief/attribute.h"
#include "analysis/chief/text.h"

namespace digd::chief {

namespace {

namespace json = boost::json;

std::string list_of(const std::vector<std::size_t>& steps) {
  std::string out;
  for (std::size_t s : steps) out += (out.empty() ? "" : ", ") + std::to_string(s);
  return out;
}

template <class T>
json::array array_of(const std::vector<T>& items) {
  json::array out;
  for (const T& item : items) out.emplace_back(item);
  return out;
}

json::object of(const counterfactual& c) { return {{"bias", c.bias}, {"anomaly", c.anomaly}}; }

json::array subtasks_of(const attribution& a) {
  json::array out;
  for (std::size_t k = 0; k < a.graph.subtasks.size(); ++k) {
    const subtask& sub = a.graph.subtasks[k];
    json::array agents;
    for (const otar& entry : sub.agents) {
      agents.push_back(json::object{{"agent", entry.agent},
                                    {"steps", array_of(entry.steps)},
                                    {"observation", entry.observation},
                                    {"thought", entry.thought},
                                    {"action", entry.action},
                                    {"result", entry.result}});
    }
    const virtual_oracle& o = a.back.oracles[k];
    out.push_back(json::object{{"name", sub.name},
                               {"steps", array_of(sub.steps)},
                               {"agents", std::move(agents)},
                               {"oracle", json::object{{"goal", o.goal},
                                                       {"preconditions", array_of(o.preconditions)},
                                                       {"key_evidence", array_of(o.key_evidence)},
                                                       {"acceptance", array_of(o.acceptance)}}},
                               {"fails", a.back.verdicts[k].fails},
                               {"unmet", array_of(a.back.verdicts[k].unmet)}});
  }
  return out;
}

json::object edges_of(const hierarchy& graph) {
  json::array subtasks, agents, steps, loops;
  for (const subtask_edge& e : graph.subtask_edges) {
    subtasks.push_back(
        json::object{{"from", e.from}, {"to", e.to}, {"type", e.data ? "data" : "order"}, {"pattern", of(e.pattern)}});
  }
  for (const agent_edge& e : graph.agent_edges) {
    agents.push_back(json::object{
        {"subtask", e.subtask}, {"from", e.from}, {"to", e.to}, {"type", e.type}, {"pattern", of(e.pattern)}});
  }
  for (const step_edge& e : graph.step_edges) {
    steps.push_back(
        json::object{{"from", e.from}, {"to", e.to}, {"carried", array_of(e.carried)}, {"pattern", of(e.pattern)}});
  }
  for (const loop_group& l : graph.loops) {
    loops.push_back(json::object{{"executor", l.executor},
                                 {"instructions", array_of(l.instructions)},
                                 {"results", array_of(l.results)},
                                 {"plan_changes", l.plan_changes}});
  }
  return {{"subtasks", std::move(subtasks)},
          {"agents", std::move(agents)},
          {"steps", std::move(steps)},
          {"loops", std::move(loops)}};
}

// "agents: Clerk (proven), Reader 12%, …"
std::string agents_line(const attribution& a) {
  constexpr std::size_t max_agents = 5;
  std::string out = "agents: ";
  for (std::size_t i = 0; i < a.agents.size() && i < max_agents; ++i) {
    const auto& [agent, p] = a.agents[i];
    const bool proven = i == 0 && !a.ranking.empty() && a.ranking.front().proven;
    out += (i ? ", " : "") + one_line(agent, 60) + (proven ? " (proven)" : fmt::format(" {:.0f}%", 100 * p));
  }
  return out + (a.agents.size() > max_agents ? ", …" : "");
}

// The way of backtracking: failed subtasks, last first; their discrepant agents; the discrepant steps of these.
json::object path_of(const attribution& a) {
  json::array subtasks, agents;
  for (std::size_t k = a.back.verdicts.size(); k-- > 0;) {
    if (a.back.verdicts[k].fails) subtasks.push_back(k);
  }
  for (const auto& [k, agent] : a.back.agents) agents.push_back(json::object{{"subtask", k}, {"agent", agent}});
  return {{"subtasks", std::move(subtasks)}, {"agents", std::move(agents)}, {"steps", array_of(a.back.steps)}};
}

json::array findings_of(const attribution& a) {
  json::array out;
  for (const finding& f : a.findings) {
    json::object object{{"step", f.step}, {"stage", to_string(f.by)}, {"says", f.says}, {"steps", array_of(f.from)}};
    if (f.excused) object["excused_by"] = f.excused_by;
    out.push_back(std::move(object));
  }
  return out;
}

}  // namespace

std::string describe(const flat_log& log, const attribution& a, std::size_t top) {
  std::string out =
      fmt::format("{} steps, {} subtasks ({} fall short of their virtual oracle), {} step edges, {} loops\n",
                  log.steps.size(), a.graph.subtasks.size(),
                  std::count_if(a.back.verdicts.begin(), a.back.verdicts.end(), [](auto& v) { return v.fails; }),
                  a.graph.step_edges.size(), a.graph.loops.size());
  out += log.framework == known_framework::none
             ? "framework: not recognised. Only evaluators that need no framework are used, so check the answer.\n"
             : fmt::format("framework: {}\n", to_string(log.framework));
  out += agents_line(a) + "\n";
  for (std::size_t i = 0; i < a.ranking.size() && i < top; ++i) {
    const suspect& s = a.ranking[i];
    const std::string sure = s.proven ? "proven" : fmt::format("{:.0f}%", 100 * s.probability);
    const std::string& event = log.steps[s.step].event;
    const std::size_t number = log.steps[s.step].activation_number;
    out += fmt::format("{}. step {}{}, {}{} ({}; decided by: {})\n", i + 1, s.step,
                       event.empty() ? "" : " (event " + one_line(event, 60) + ")", one_line(s.agent, 60),
                       number == 0 ? "" : fmt::format(", activation {}", number), sure, to_string(s.decided_by));
    out += "     \"" + one_line(log.steps[s.step].text, 140) + "\"\n";
    for (const evidence& e : s.chain) {
      const bool itself = e.steps.size() == 1 && e.steps.front() == s.step;
      const std::string where = itself ? "" : e.steps.empty() ? " (the agent)" : " (steps " + list_of(e.steps) + ")";
      out +=
          fmt::format("     {} ({}): {}{}\n", e.accuses ? "evidence" : "circumstance", to_string(e.by), e.says, where);
    }
  }
  return out;
}

std::string to_json(const flat_log& log, const attribution& a, std::size_t top, json_extent extent) {
  json::array ranking, agents, diagnostic;
  for (const std::string_view part : a.diagnostic) diagnostic.push_back(json::string(part));
  for (std::size_t i = 0; i < a.ranking.size() && i < top; ++i) {
    const suspect& s = a.ranking[i];
    json::array chain;
    for (const evidence& e : s.chain) {
      chain.push_back(json::object{{"stage", to_string(e.by)},
                                   {"says", e.says},
                                   {"steps", array_of(e.steps)},
                                   {"weight", e.weight},
                                   {"accuses", e.accuses}});
    }
    json::object object{{"agent", s.agent},         {"step", s.step},           {"probability", s.probability},
                        {"proven", s.proven},       {"candidate", s.candidate}, {"decided_by", to_string(s.decided_by)},
                        {"chain", std::move(chain)}};
    if (!log.steps[s.step].event.empty()) object["event"] = log.steps[s.step].event;
    if (const std::size_t number = log.steps[s.step].activation_number; number > 0) object["activation"] = number;
    ranking.push_back(std::move(object));
  }
  for (const auto& [agent, p] : a.agents) agents.push_back(json::object{{"agent", agent}, {"probability", p}});
  json::object out{{"log", log.id},
                   {"framework", to_string(log.framework)},
                   {"calibrated", a.calibrated},
                   {"diagnostic", std::move(diagnostic)},
                   {"ranking", std::move(ranking)},
                   {"agents", std::move(agents)}};
  if (extent == json_extent::whole) {
    out["subtasks"] = subtasks_of(a);
    out["edges"] = edges_of(a.graph);
    out["backtracking"] = path_of(a);
    out["findings"] = findings_of(a);
  }
  return json::serialize(out);
}

}  // namespace digd::chief
