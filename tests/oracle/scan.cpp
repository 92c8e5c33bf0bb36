#include "scan.h"

#include <algorithm>

namespace oracle {

namespace {

// Skips forgotten records: a forgotten id indices as unknown, and a later record may have it.
template <class Records>
std::optional<std::size_t> find_remembered(const Records& records, const std::string& id) {
  for (std::size_t i = 0; i < records.size(); ++i)
    if (!records[i].forgotten_ && records[i].id_ == id) return i;
  return std::nullopt;
}

bool contains(const std::vector<std::size_t>& indices, std::size_t index) {
  return std::find(indices.begin(), indices.end(), index) != indices.end();
}

bool judging_over(const history& h) { return h.terminal_ || h.ended_; }

}  // namespace

std::optional<std::size_t> find_event(const history& h, const std::string& id) {
  return find_remembered(h.events_, id);
}

std::optional<std::size_t> find_activation(const history& h, const std::string& id) {
  return find_remembered(h.activations_, id);
}

bool is_work(const event_record& e) { return !e.submit_ && !e.fyi_ && !e.system_; }

bool is_pending(const event_record& e) {
  return std::any_of(e.deliveries_.begin(), e.deliveries_.end(),
                     [](const delivery& d) { return d.state_ == delivery_state::pending; });
}

bool is_pending_for(const event_record& e, const std::string& agent) {
  return std::any_of(e.deliveries_.begin(), e.deliveries_.end(),
                     [&](const delivery& d) { return d.agent_ == agent && d.state_ == delivery_state::pending; });
}

bool in_roster(const history& h, const std::string& agent) { return h.roster_.count(agent) != 0; }

std::vector<std::size_t> reachable_work(const history& h) {
  std::vector<std::size_t> found;
  for (std::size_t e = 0; e < h.events_.size(); ++e)
    if (is_work(h.events_[e]) && is_pending(h.events_[e])) found.push_back(e);
  return found;
}

std::set<std::size_t> ancestors(const history& h, std::size_t event) {
  std::set<std::size_t> found;
  std::vector<std::size_t> open{event};
  while (!open.empty()) {
    const std::size_t e = open.back();
    open.pop_back();
    for (std::size_t parent : h.events_[e].derived_from_)
      if (found.insert(parent).second) open.push_back(parent);
  }
  return found;
}

bool is_generating(const history& h, const activation_record& v) {
  const auto counted =
      std::count_if(v.outputs_.begin(), v.outputs_.end(), [&](std::size_t e) { return !h.events_[e].fyi_; });
  return static_cast<std::size_t>(counted) > v.inputs_.size();
}

bool is_reducing(const history& h, const activation_record& v) { return !is_generating(h, v); }

bool consumed_by(const activation_record& v, std::size_t event) {
  if (v.open_ || v.failed_) return false;
  for (std::size_t i = 0; i < v.inputs_.size(); ++i)
    if (v.inputs_[i] == event && v.reactions_[i] == reaction_kind::consume) return true;
  return false;
}

bool is_consumed(const history& h, std::size_t event) {
  return std::any_of(h.activations_.begin(), h.activations_.end(),
                     [&](const activation_record& v) { return consumed_by(v, event); });
}

std::int64_t reroute_acts(const history& h, std::size_t event) {
  std::int64_t acts = 0;
  for (const activation_record& v : h.activations_)
    for (std::size_t i = 0; i < v.reactions_.size(); ++i)
      if (v.inputs_[i] == event && v.reactions_[i] == reaction_kind::reroute) ++acts;
  return acts;
}

bool input_of_open_activation(const history& h, std::size_t event) {
  return std::any_of(h.activations_.begin(), h.activations_.end(),
                     [&](const activation_record& v) { return v.open_ && contains(v.inputs_, event); });
}

std::size_t active_count(const history& h) {
  return static_cast<std::size_t>(std::count_if(h.activations_.begin(), h.activations_.end(),
                                                [](const activation_record& v) { return v.open_ && !v.stalled_; }));
}

const rule_settings& settings_of(const history& h, rule r) { return h.settings_.rules_[static_cast<std::size_t>(r)]; }

mode effective_mode(const history& h, rule r) { return std::min(h.settings_.mode_, settings_of(h, r).mode_); }

bool hold_open(const history& h) {
  return std::any_of(h.holds_.begin(), h.holds_.end(), [](const hold_record& hold) { return hold.open_; });
}

int depth_of(const history& h, std::size_t event) {
  int depth = 0;
  for (std::size_t parent : h.events_[event].derived_from_) depth = std::max(depth, 1 + depth_of(h, parent));
  return depth;
}

// The condition of a rule that is off never holds, so its window never runs.
bool deadlock_holds(const history& h) {
  if (judging_over(h) || effective_mode(h, rule::deadlock) == mode::off) return false;
  return active_count(h) == 0 && !hold_open(h) && !reachable_work(h).empty();
}

bool missing_termination_holds(const history& h) {
  if (judging_over(h) || effective_mode(h, rule::missing_termination) == mode::off) return false;
  return !h.ended_since_gap_.empty() && !hold_open(h) && active_count(h) == 0 && reachable_work(h).empty();
}

bool orphan_holds(const history& h, std::size_t event) {
  const event_record& e = h.events_[event];
  if (judging_over(h) || effective_mode(h, rule::orphaned_event) == mode::off) return false;
  if (e.settled_ || !is_work(e) || is_pending(e) || e.to_nobody_) return false;
  for (const delivery& d : e.deliveries_)
    if (d.state_ == delivery_state::unknown) return false;
  return !input_of_open_activation(h, event) && !is_consumed(h, event);
}

}  // namespace oracle
