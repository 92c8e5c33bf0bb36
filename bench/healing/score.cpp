#include "bench/healing/score.h"

#include <algorithm>

namespace digd::bench {

namespace {

constexpr int many_reroutes = 2;  // the default of `max_reroutes`

class judge_of_detections {
 public:
  explicit judge_of_detections(const run_facts& run) : run_(run) {
    const cover counted = run.answer ? item_at(*run.answer).result.counted : cover();
    for (const range gap : counted.missing_in(run.whole)) lacking_.add(cover(gap));
    for (const cover::piece& p : counted.pieces()) {
      if (p.times > 1) doubled_.add(cover(p.where));
    }
  }

  bool is_right(const detection& d) const {
    switch (d.rule) {
      case rule_id::early_termination: return lacks(number_of(d.event.value_or("")));
      case rule_id::orphaned_event:
      case rule_id::excessive_rerouting: return touches(d.event.value_or(""), lacking_);
      case rule_id::cross_lineage_aggregation:
      case rule_id::repeated_subproblem:
        return touches(d.event.value_or(""), doubled_) ||
               std::any_of(d.evidence.begin(), d.evidence.end(),
                           [this](const std::string& id) { return touches(id, doubled_); });
      default: return !run_.answer;
    }
  }

  scores had() const {
    scores s;
    const auto set = [&s](rule_id rule, bool value) { s.had[index_of(rule)] |= value; };
    for (std::size_t n = 0; n < run_.items.size(); ++n) {
      const item& x = run_.items[n];
      const item_history& h = run_.histories[n];
      if (x.submitted) set(rule_id::early_termination, lacks(static_cast<int>(n)));
      const bool needed = elements_of(x).overlaps(lacking_);
      set(rule_id::orphaned_event, !x.submitted && !h.consumed && !h.held && needed);
      set(rule_id::excessive_rerouting, h.reroutes > many_reroutes && !h.consumed && needed);
    }
    set(rule_id::cross_lineage_aggregation, !doubled_.empty());
    set(rule_id::repeated_subproblem, !doubled_.empty());
    set(rule_id::deadlock, !run_.answer);
    set(rule_id::missing_termination, !run_.answer);
    return s;
  }

 private:
  const item& item_at(int number) const { return run_.items[static_cast<std::size_t>(number)]; }
  int number_of(const std::string& id) const {
    const auto found = run_.items_by_id.find(id);
    return found == run_.items_by_id.end() ? none : found->second;
  }
  static cover elements_of(const item& x) { return x.kind == item_kind::solution ? x.result.counted : cover(x.part); }
  bool touches(const std::string& id, const cover& elements) const {
    const int n = number_of(id);
    return n != none && elements_of(item_at(n)).overlaps(elements);
  }
  bool lacks(int answer) const {
    return answer != none && !item_at(answer).result.counted.missing_in(run_.whole).empty();
  }

  const run_facts& run_;
  cover lacking_, doubled_;  // of the run's answer
};

}  // namespace

scores score(const run_facts& run, const std::vector<detection>& detections) {
  const judge_of_detections judge(run);
  scores s = judge.had();
  for (const detection& d : detections) {
    if (index_of(d.rule) < failure_rule_count) s.right[index_of(d.rule)] += judge.is_right(d);
  }
  return s;
}

}  // namespace digd::bench
