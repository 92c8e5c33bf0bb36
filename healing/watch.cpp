#include "healing/watch.h"

#include <algorithm>
#include <utility>

namespace digd {

namespace {

void tell(const watched& w, outcome_kind outcome_kind, milliseconds now, answer& out) {
  out.outcomes.push_back({w.rule, now, w.label, w.detected_ts, outcome_kind});
}

bool share(const std::vector<graph::event_ref>& a, const std::vector<graph::event_ref>& b) {
  return std::any_of(a.begin(), a.end(),
                     [&](graph::event_ref x) { return std::find(b.begin(), b.end(), x) != b.end(); });
}

}  // namespace

void watch_list::add(watched w, milliseconds now, answer& out) {
  if (watcheds_.size() == most) {
    tell(watcheds_.front(), outcome_kind::unresolved, now, out);
    watcheds_.erase(watcheds_.begin());
  }
  w.occasion = occasion_;
  watcheds_.push_back(std::move(w));
}

void watch_list::fired_again(const watched& found, milliseconds now, answer& out) {
  std::erase_if(watcheds_, [&](const watched& w) {
    if (w.rule != found.rule || w.occasion == occasion_) return false;
    bool same = true;  // symptoms of the whole run
    if (found.rule == rule_id::repeated_subproblem) {
      same = share(w.evidence, found.evidence);
    } else if (found.rule != rule_id::early_termination && found.has_event) {
      same = w.event == found.event && w.agent == found.agent;
    }
    if (same) tell(w, outcome_kind::recurred, now, out);
    return same;
  });
}

void watch_list::update(const graph::graph& g, const run_progress& progress, milliseconds now, answer& out) {
  std::erase_if(watcheds_, [&](watched& w) {
    const watch_state state = rule_of(w.rule).progress(g, w, progress);
    if (state == watch_state::open) return false;
    tell(w, state == watch_state::cleared ? outcome_kind::cleared : outcome_kind::recurred, now, out);
    return true;
  });
}

void watch_list::end(milliseconds now, answer& out) {
  for (const watched& w : watcheds_) tell(w, outcome_kind::unresolved, now, out);
  watcheds_.clear();
}

}  // namespace digd
