#include "healing/outcomes.h"

#include <algorithm>
#include <utility>

namespace digd {

namespace {

void report(const watched& w, outcome_kind outcome, milliseconds now, answer& out) {
  out.outcomes.push_back({w.rule, now, w.label, w.detected_ts, outcome});
}

bool share(const std::vector<graph::event_ref>& a, const std::vector<graph::event_ref>& b) {
  return std::any_of(a.begin(), a.end(),
                     [&](graph::event_ref x) { return std::find(b.begin(), b.end(), x) != b.end(); });
}

bool is_same_symptom(const watched& healed, const watched& found) {
  switch (rule_of(found.rule).traits.recurs) {
    case recurrence::anywhere: return true;
    case recurrence::shared_evidence: return share(healed.evidence, found.evidence);
    case recurrence::same_agent: return healed.agent == found.agent;
    case recurrence::same_place: break;
  }
  return !found.has_event || (healed.event == found.event && healed.agent == found.agent);
}

}  // namespace

void outcome_watch::add(watched w, milliseconds now, answer& out) {
  if (watched_.size() == max_watched) {
    report(watched_.front(), outcome_kind::unresolved, now, out);
    watched_.erase(watched_.begin());
  }
  w.occasion = occasion_;
  watched_.push_back(std::move(w));
}

void outcome_watch::found_again(const watched& found, milliseconds now, answer& out) {
  std::erase_if(watched_, [&](const watched& w) {
    if (w.rule != found.rule || w.occasion == occasion_ || !is_same_symptom(w, found)) return false;
    report(w, outcome_kind::recurred, now, out);
    return true;
  });
}

void outcome_watch::update(const graph::graph& g, const run_progress& progress, milliseconds now, answer& out) {
  std::erase_if(watched_, [&](watched& w) {
    const watch_state state = rule_of(w.rule).progress(g, w, progress);
    if (state == watch_state::open) return false;
    report(w, state == watch_state::cleared ? outcome_kind::cleared : outcome_kind::recurred, now, out);
    return true;
  });
}

void outcome_watch::end(milliseconds now, answer& out) {
  for (const watched& w : watched_) report(w, outcome_kind::unresolved, now, out);
  watched_.clear();
}

}  // namespace digd
