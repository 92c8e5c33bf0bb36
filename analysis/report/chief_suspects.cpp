#include "analysis/report/chief_suspects.h"

#include <algorithm>

#include "analysis/chief/text.h"
#include "report/words.h"

namespace digd::report {

namespace {

constexpr std::size_t max_quote = 160, max_evidence = 2;

// What to try, by the stage that decided.
std::string remedy_of(chief::stage by) {
  switch (by) {
    case chief::stage::oracle: return "tell the agent what its result must contain, and check that before going on";
    case chief::stage::local: return "have the agent check its own result, or the tool it used, before passing it on";
    case chief::stage::planning_control:
      return "have the planner change its plan after a failure, and limit repetitions";
    case chief::stage::data_flow: return "have the agent quote the source of every value that it passes on";
    case chief::stage::deviation: return "have a later step verify this one, and correct it";
    default: return {};
  }
}

// "states values that …" with its subject: the step.
std::string clause(const chief::flat_log& log, const std::string& says) {
  const bool has_subject =
      says.starts_with("its ") || says.starts_with("what it ") || says.starts_with("the run ") ||
      std::any_of(log.steps.begin(), log.steps.end(), [&](const auto& s) { return says.starts_with(s.agent + " "); });
  return has_subject ? says : "it " + says;
}

std::string evidence_of(const chief::flat_log& log, const chief::suspect& s) {
  std::string out;
  std::size_t n = 0;
  for (const chief::evidence& e : s.chain) {
    if (!e.accuses || n == max_evidence) continue;
    out += (n++ > 0 ? "; " : "") + short_name(clause(log, e.says), 200);
  }
  return out;
}

}  // namespace

void add_suspects(part& into, const chief::flat_log& log, const chief::attribution& a, std::size_t max_rows) {
  into.candidates = a.ranking.size();
  into.scale =
      a.calibrated || (!a.ranking.empty() && a.ranking[a.lead].proven) ? score_scale::probability : score_scale::none;
  for (std::size_t i = 0; i < std::min(max_rows, a.ranking.size()); ++i) {
    const chief::suspect& s = a.ranking[i == 0 ? a.lead : i <= a.lead ? i - 1 : i];
    suspicion row;
    row.agent = s.agent;
    row.place = "step " + std::to_string(s.step);
    row.event = log.steps[s.step].event;
    row.quote = quotable(chief::one_line(log.steps[s.step].text, max_quote), max_quote);
    row.evidence = evidence_of(log, s);
    row.remedy = remedy_of(s.decided_by);
    row.score = s.probability;
    row.proven = s.proven;
    const auto agent = std::find_if(a.agents.begin(), a.agents.end(), [&](auto& x) { return x.first == s.agent; });
    if (agent != a.agents.end()) {
      row.agent_score = agent->second;
      if (agent + 1 != a.agents.end()) row.next_agent_score = (agent + 1)->second;
    }
    into.suspects.push_back(std::move(row));
  }
}

}  // namespace digd::report
