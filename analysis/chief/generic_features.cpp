// Evaluators for logs of any framework: values, failures and the findings of backtracking.
#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>

#include "analysis/chief/backtracking.h"
#include "analysis/chief/features.h"
#include "analysis/chief/hierarchy.h"
#include "analysis/chief/screening.h"
#include "analysis/chief/text.h"
#include "base/text.h"

namespace digd::chief {

namespace {

#define FEATURE(name, by, weighs, means, says) g_##name,
enum generic_feature : std::size_t {
#include "analysis/chief/generic_features.inc"
  generic_feature_count
};
#undef FEATURE

bool no_result(execution_state s) { return s == execution_state::failed || s == execution_state::empty; }

bool is_output(const flat_log& log, std::size_t i) {
  return log.steps[i].form == step_form::execution || log.steps[i].form == step_form::notice;
}

class generic_reader {
 public:
  generic_reader(const flat_log& log, const hierarchy& graph, const backtracking& back)
      : log_(log), discrepant_(back.steps) {
    for (const step_edge& e : graph.step_edges) {
      if (!e.carried.empty()) ++uses_[e.from];
    }
    question_ = values(log.question);
    for (std::size_t i = 0; i < log.steps.size(); ++i) {
      if (!can_be_blamed(log, i)) continue;
      if (log.steps[i].text.size() > 20) last_ = i;
    }
    if (!log.steps.empty()) end_values_ = without(values(log.steps[last_].text), question_);
  }

  candidate_rows read() {
    candidate_rows out;
    vocabulary seen(question_);
    word_set before;
    for (std::size_t i = 0; i < log_.steps.size(); ++i) {
      const word_set here = values(log_.steps[i].text);
      if (can_be_blamed(log_, i)) {
        out.steps.push_back(i);
        out.rows.push_back(row(i, here, seen, before));
        joined_.insert(log_.steps[i].agent);
        before = here;
      }
      seen.add(here);
    }
    return out;
  }

 private:
  std::vector<double> row(std::size_t i, const word_set& here, const vocabulary& seen, const word_set& before) {
    const flat_step& step = log_.steps[i];
    std::vector<double> row(generic_feature_count, 0.0);
    const auto set = [&row](generic_feature f, bool yes) { row[f] = yes ? 1.0 : 0.0; };
    const std::string low = lower(step.text);
    const word_set brought = without(here, seen);
    const bool runs = i + 1 < log_.steps.size() && is_output(log_, i + 1);
    const execution_state ran = runs ? log_.steps[i + 1].execution : execution_state::none;
    const execution_state after = i > 0 ? log_.steps[i - 1].execution : execution_state::none;
    const bool concluded = chief::concludes(low);
    set(g_directs, step.form == step_form::instruction);
    set(g_thinks, step.thought);
    set(g_tool_fails, no_result(ran));
    set(g_first_failure, no_result(ran) && !failed_);
    set(g_uses_tool, runs);
    set(g_after_failure, no_result(after));
    set(g_words_after_failure, no_result(after) && !runs && !brought.empty());
    row[g_new_values] = std::log1p(static_cast<double>(brought.size())) / 3.0;
    set(g_ungrounded, !brought.empty() && !runs && after == execution_state::none);
    row[g_share_of_end] = share_of(brought, end_values_);
    row[g_used_later] = std::log1p(static_cast<double>(uses_[i])) / 2.0;
    const word_set asked = without(before, without(before, question_));
    row[g_drops_values] = asked.empty() || here.empty() ? 0.0 : 1.0 - share_of(here, asked);
    set(g_assumes, chief::assumes(low));
    set(g_concludes, concluded);
    set(g_first_conclusion, concluded && !concluded_);
    set(g_discrepant, std::binary_search(discrepant_.begin(), discrepant_.end(), i));
    set(g_joins, !joined_.contains(step.agent));
    failed_ = failed_ || no_result(ran);
    concluded_ = concluded_ || concluded;
    return row;
  }

  const flat_log& log_;
  const std::vector<std::size_t>& discrepant_;
  std::map<std::size_t, std::size_t> uses_;
  word_set question_, end_values_;
  std::size_t last_ = 0;
  std::set<std::string> joined_;  // agents that have contributed
  bool failed_ = false, concluded_ = false;
};

}  // namespace

#define FEATURE(name, by, weighs, means, says) {#name, stage::by, leaning::weighs, bearing::means, says},
const std::vector<feature_info>& generic_features() {
  static const std::vector<feature_info> features{
#include "analysis/chief/generic_features.inc"
  };
  return features;
}
#undef FEATURE

candidate_rows rows_of_any(const flat_log& log, const hierarchy& graph, const backtracking& back) {
  return generic_reader(log, graph, back).read();
}

candidate_rows rows_of_any(const flat_log& log) {
  const hierarchy graph = build_hierarchy(log);
  return rows_of_any(log, graph, backtrack(log, graph, screen(log, graph)));
}

}  // namespace digd::chief
