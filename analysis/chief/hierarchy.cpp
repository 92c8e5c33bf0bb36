#include "analysis/chief/hierarchy.h"

#include <algorithm>
#include <map>
#include <unordered_map>

#include "analysis/chief/text.h"
#include "base/text.h"

namespace digd::chief {

namespace {

constexpr std::size_t max_excerpt_bytes = 200;
constexpr std::size_t max_edges_a_step = 6;
constexpr std::size_t max_named_values = 8;

// The number in a heading such as "### Step 3: …" or "Step 3." at the start of a line.
std::optional<std::size_t> heading_number(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = std::min(text.find('\n', at), text.size());
    std::string_view line = text.substr(at, end - at);
    line.remove_prefix(std::min(line.find_first_not_of("#* \t"), line.size()));
    if (lower(line.substr(0, 5)) == "step " && line.size() > 5 && line[5] >= '1' && line[5] <= '9') {
      return static_cast<std::size_t>(line[5] - '0');
    }
    at = end + 1;
  }
  return std::nullopt;
}

// Divides the steps into named subtasks.
class splitter {
 public:
  explicit splitter(const flat_log& log) : log_(log), alike_(likeness_of_instructions(log)) {}

  void split(hierarchy& into) {
    into.subtask_of.resize(log_.steps.size());
    for (std::size_t i = 0; i < log_.steps.size(); ++i) {
      const std::size_t k = log_.has_dig ? branch(into, i) : flat(into, i);
      into.subtasks[k].steps.push_back(i);
      into.subtask_of[i] = k;
    }
  }

 private:
  std::size_t open(hierarchy& into, std::string_view name) {
    into.subtasks.push_back({one_line(name, 80), {}, {}});
    topic_.clear();
    return into.subtasks.size() - 1;
  }

  std::size_t branch(hierarchy& into, std::size_t i) {
    const auto [at, fresh] = branches_.try_emplace(log_.steps[i].branch, into.subtasks.size());
    if (fresh) open(into, log_.steps[i].text);
    return at->second;
  }

  std::size_t flat(hierarchy& into, std::size_t i) {
    const flat_step& step = log_.steps[i];
    if (into.subtasks.empty()) return open(into, step.form == step_form::plan ? "plan" : step.text);
    const std::size_t current = into.subtasks.size() - 1;
    if (log_.orchestrated) {
      if (step.form == step_form::plan) return open(into, step.text.starts_with("New") ? "new plan" : "plan");
      const bool instruction = step.form == step_form::instruction;
      const bool first = instruction && !instructed_;
      instructed_ = instructed_ || instruction;
      return instruction && (first || alike_[i] < 0.3) ? open(into, step.text) : current;
    }
    if (step.form == step_form::execution || step.form == step_form::notice) return current;
    if (const auto number = heading_number(step.text);
        number && *number > heading_ && into.subtasks[current].steps.size() > 1) {
      heading_ = *number;
      return open(into, step.text);
    }
    const word_set words = content_words(step.text);
    const bool shifted = into.subtasks[current].steps.size() >= 3 && words.size() >= 8 && jaccard(words, topic_) < 0.05;
    const std::size_t k = shifted ? open(into, step.text) : current;
    topic_.add(words);
    return k;
  }

  const flat_log& log_;
  const std::vector<double> alike_;
  std::map<std::size_t, std::size_t> branches_;
  vocabulary topic_;
  std::size_t heading_ = 1;
  bool instructed_ = false;
};

void append(std::string& to, std::string_view text) {
  if (to.empty()) to = one_line(text, max_excerpt_bytes);
}

void observe(const flat_log& log, subtask& sub) {
  std::map<std::string, std::size_t> at;
  for (std::size_t i : sub.steps) {
    const flat_step& step = log.steps[i];
    const auto [where, fresh] = at.try_emplace(step.agent, sub.agents.size());
    if (fresh) sub.agents.push_back({step.agent, {}, {}, {}, {}, {}});
    otar& entry = sub.agents[where->second];
    entry.steps.push_back(i);
    if (i > 0) append(entry.observation, log.steps[i - 1].text);
    if (step.thought) append(entry.thought, step.text);
    else append(entry.action, step.text);
    const bool ran = i + 1 < log.steps.size() && log.steps[i + 1].form == step_form::execution;
    entry.result = one_line(ran ? log.steps[i + 1].text : step.text, max_excerpt_bytes);
  }
}

std::string type_of(const flat_log& log, std::size_t from, std::size_t to) {
  if (log.steps[from].form == step_form::instruction) return "decision";
  if (log.steps[from].form == step_form::execution) return "feedback";
  return log.steps[from].agent == log.steps[to].agent ? "continuation" : "observation";
}

void join_agents(const flat_log& log, hierarchy& graph) {
  for (std::size_t k = 0; k < graph.subtasks.size(); ++k) {
    const auto& steps = graph.subtasks[k].steps;
    std::map<std::pair<std::string, std::string>, bool> done;
    for (std::size_t j = 1; j < steps.size(); ++j) {
      const std::string &from = log.steps[steps[j - 1]].agent, &to = log.steps[steps[j]].agent;
      if (from == to || done[{from, to}]) continue;
      done[{from, to}] = true;
      const std::string type = type_of(log, steps[j - 1], steps[j]);
      graph.agent_edges.push_back(
          {k, from, to, type,
           type == "decision"
               ? counterfactual{from + " repeats or misdirects its instruction", to + " works on the wrong thing"}
               : counterfactual{from + " gives a wrong or empty result", to + " goes on from it"}});
    }
  }
}

// Joins the first step that gave a value with the steps that used it later.
void join_steps(const flat_log& log, hierarchy& graph) {
  std::unordered_map<std::string, std::size_t> producer;
  for (const std::string& given : values(log.question)) producer.emplace(given, log.steps.size());
  for (std::size_t i = 0; i < log.steps.size(); ++i) {
    std::map<std::size_t, std::vector<std::string>> from;
    for (const std::string& value : values(log.steps[i].text)) {
      const auto [at, fresh] = producer.try_emplace(value, i);
      if (!fresh && at->second != log.steps.size()) from[at->second].push_back(value);
    }
    for (std::size_t input : log.steps[i].inputs) from.try_emplace(input);
    std::vector<std::pair<std::size_t, std::vector<std::string>>> richest(from.begin(), from.end());
    std::stable_sort(richest.begin(), richest.end(),
                     [](auto& a, auto& b) { return a.second.size() > b.second.size(); });
    if (richest.size() > max_edges_a_step) richest.resize(max_edges_a_step);
    for (auto& [source, carried] : richest) {
      if (carried.size() > max_named_values) carried.resize(max_named_values);
      const std::string text = carried.empty() ? "what it gave" : carried.front();
      graph.step_edges.push_back({source,
                                  i,
                                  std::move(carried),
                                  {"step " + std::to_string(source) + " gives a wrong " + text,
                                   "step " + std::to_string(i) + " computes with it"}});
    }
  }
}

void join_subtasks(hierarchy& graph) {
  std::map<std::pair<std::size_t, std::size_t>, bool> data;
  for (std::size_t k = 1; k < graph.subtasks.size(); ++k) data[{k - 1, k}];
  for (const step_edge& edge : graph.step_edges) {
    const std::size_t from = *graph.subtask_of[edge.from], to = *graph.subtask_of[edge.to];
    if (from != to && !edge.carried.empty()) data[{from, to}] = true;
  }
  for (const auto& [ends, carries] : data) {
    graph.subtask_edges.push_back({ends.first,
                                   ends.second,
                                   carries,
                                   {"subtask " + std::to_string(ends.first) + " ends unmet",
                                    "subtask " + std::to_string(ends.second) + " starts from unmet preconditions"}});
  }
}

bool reports_failure(const flat_log& log, std::size_t i) {
  const flat_step& s = log.steps[i];
  return s.execution == execution_state::failed || s.execution == execution_state::empty;
}

void find_loops(const flat_log& log, hierarchy& graph) {
  loop_group current;
  std::size_t failures = 0;  // among the results of `current`
  word_set last;
  const auto close = [&] {
    if (current.instructions.size() >= 2) graph.loops.push_back(current);
    current = {};
    failures = 0;
    last.clear();
  };
  for (std::size_t i = 0; i < log.steps.size(); ++i) {
    const flat_step& step = log.steps[i];
    if (step.form == step_form::instruction) {
      const std::string to = step.to.empty() ? std::string() : step.to.front();
      const word_set words = content_words(step.text);
      const double like = last.empty() ? 1.0 : jaccard(words, last);
      // After nothing but failures, a different instruction still belongs to the same attempt.
      const bool only_failures = !current.results.empty() && failures == current.results.size();
      if (!current.instructions.empty() && (to != current.executor || (like < 0.3 && !only_failures))) close();
      if (!current.instructions.empty()) {
        current.plan_changes = current.plan_changes || like < 0.85;
        current.failures_reported = current.failures_reported || failures > 0;
      }
      current.executor = to;
      current.instructions.push_back(i);
      last = words;
    } else if (!current.instructions.empty() && step.agent == current.executor) {
      current.results.push_back(i);
      failures += reports_failure(log, i);
    }
  }
  close();
}

}  // namespace

hierarchy build_hierarchy(const flat_log& log) {
  hierarchy graph;
  splitter(log).split(graph);
  join_steps(log, graph);
  find_loops(log, graph);
  std::vector<subtask> subtasks = std::move(graph.subtasks);
  regroup(graph, log, std::move(subtasks));
  return graph;
}

void regroup(hierarchy& graph, const flat_log& log, std::vector<subtask> subtasks) {
  graph.subtasks = std::move(subtasks);
  graph.subtask_of.assign(log.steps.size(), std::nullopt);
  graph.agent_edges.clear();
  graph.subtask_edges.clear();
  for (std::size_t k = 0; k < graph.subtasks.size(); ++k) {
    graph.subtasks[k].agents.clear();
    observe(log, graph.subtasks[k]);
    for (std::size_t i : graph.subtasks[k].steps) graph.subtask_of[i] = k;
  }
  join_agents(log, graph);
  join_subtasks(graph);
}

}  // namespace digd::chief
