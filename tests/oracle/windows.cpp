// Effects of time alone: stalls and the three windows.
#include "oracle.h"
#include "scan.h"

#include <algorithm>
#include <limits>
#include <tuple>

namespace oracle {

namespace {

// Starts the window when its condition becomes true, and clears it when the condition becomes false.
void update(window& w, bool holds, std::int64_t now) {
  if (!holds) w = {};
  else if (!w.since_ && !w.fired_) w.since_ = now;
}

}  // namespace

void evaluator::handle_due(std::int64_t now) {
  for (std::optional<due> next = next_due(); next && next->at_ <= now; next = next_due()) {
    h_.clock_ = std::max(h_.clock_, next->at_);
    fire(*next);
    update_windows(next->at_);
  }
}

std::optional<evaluator::due> evaluator::next_due() const {
  std::optional<due> first;
  // A sum beyond the last time that can be written is that last time.
  auto consider = [&](std::int64_t since, std::int64_t wait, int order, const std::string& id, std::size_t index) {
    const std::int64_t last = std::numeric_limits<std::int64_t>::max();
    const std::int64_t at = since > last - wait ? last : since + wait;
    if (!first || std::tie(at, order, id) < std::tie(first->at_, first->order_, first->id_))
      first = due{at, order, id, index};
  };
  for (std::size_t i = 0; i < h_.activations_.size(); ++i) {
    const activation_record& v = h_.activations_[i];
    if (v.open_ && !v.stalled_) consider(v.last_sign_ms_, h_.settings_.stalled_ms_, 0, v.id_, i);
  }
  if (h_.deadlock_.since_) consider(*h_.deadlock_.since_, settings_of(h_, rule::deadlock).window_ms_, 1, "", 0);
  if (h_.missing_termination_.since_)
    consider(*h_.missing_termination_.since_, settings_of(h_, rule::missing_termination).window_ms_, 2, "", 0);
  for (std::size_t i = 0; i < h_.events_.size(); ++i) {
    const event_record& e = h_.events_[i];
    if (e.orphan_.since_) consider(*e.orphan_.since_, settings_of(h_, rule::orphaned_event).window_ms_, 3, e.id_, i);
  }
  const guard_settings& guards = h_.settings_.guards_;
  if (guard_is_on(rule::stall) && !h_.terminal_ && effective_mode(h_, rule::stall) != mode::off)
    for (std::size_t i = 0; i < h_.activations_.size(); ++i) {
      const activation_record& v = h_.activations_[i];
      if (!v.open_ || v.silent_steps_ >= guards.actions_[3].size()) continue;
      const std::int64_t after_ms = guards.limits_.at("after_ms");
      const std::int64_t waits = after_ms * (static_cast<std::int64_t>(v.silent_steps_) + 1);
      consider(v.last_word_ms_, waits, 4, v.id_, i);
    }
  // Padded, so that the order of texts is that of numbers.
  for (std::size_t i = 0; i < h_.holds_.size(); ++i)
    if (h_.holds_[i].open_) {
      std::string number = std::to_string(i + 1);
      number.insert(0, 9 - std::min<std::size_t>(number.size(), 9), '0');
      consider(h_.holds_[i].since_, guards.hold_ms_, 5, number, i);
    }
  return first;
}

void evaluator::fire(const due& item) {
  switch (item.order_) {
    case 0: h_.activations_[item.index_].stalled_ = true; break;
    case 1: fire_window(rule::deadlock, std::nullopt, item.at_); break;
    case 2: fire_window(rule::missing_termination, std::nullopt, item.at_); break;
    case 4: fire_silence(item.index_, item.at_); break;
    case 5: end_hold(item.index_ + 1, h_.settings_.guards_.on_timeout_, false); break;
    default: fire_window(rule::orphaned_event, item.index_, item.at_); break;
  }
}

window& evaluator::window_of(rule r, std::optional<std::size_t> event) {
  if (r == rule::orphaned_event) return h_.events_[*event].orphan_;
  return r == rule::deadlock ? h_.deadlock_ : h_.missing_termination_;
}

bool evaluator::condition_holds(rule r, std::optional<std::size_t> event) const {
  if (r == rule::orphaned_event) return orphan_holds(h_, *event);
  return r == rule::deadlock ? deadlock_holds(h_) : missing_termination_holds(h_);
}

detection evaluator::window_detection(rule r, std::optional<std::size_t> event, std::int64_t at) const {
  detection d{r,  std::nullopt, at,           std::nullopt, std::nullopt, std::nullopt,
              {}, false,        std::nullopt, std::nullopt, std::nullopt, {}};
  if (r == rule::orphaned_event) {
    d.event_ = h_.events_[*event].id_;
    for (const delivery& given : h_.events_[*event].deliveries_) d.evidence_.insert(given.agent_);
  } else if (r == rule::deadlock) {
    for (std::size_t e : reachable_work(h_)) d.evidence_.insert(h_.events_[e].id_);
  } else {
    d.agent_ = h_.activations_[h_.ended_since_gap_.back()].agent_;
  }
  return d;
}

void evaluator::fire_window(rule r, std::optional<std::size_t> event, std::int64_t at) {
  const std::optional<std::string> stopped = cause_but_mode(r, event, false, any_session_can());
  const bool healed = report(window_detection(r, event, at), event, stopped);
  if (healed) {
    count_attempt(r, event);
    ++h_.budget_spent_;
    if (r == rule::orphaned_event) give_back_orphan(*event);
    else create_system_event(r);
  }
  // After a healing the window starts again at once. Otherwise it waits until the condition has been false.
  window& w = window_of(r, event);
  w = {std::nullopt, !healed, true};
  update(w, condition_holds(r, event), at);
}

// Runs before the end is recorded, because afterwards no condition holds. Skips windows that fired since their
// condition became true, even if they were healed and run again.
void evaluator::report_at_end() {
  auto consider = [&](rule r, std::optional<std::size_t> event) {
    if (condition_holds(r, event) && !window_of(r, event).fired_since_true_)
      report(window_detection(r, event, h_.clock_), event, "ended");
  };
  consider(rule::deadlock, std::nullopt);
  consider(rule::missing_termination, std::nullopt);
  std::map<std::string, std::size_t> by_id;
  for (std::size_t e = 0; e < h_.events_.size(); ++e)
    if (orphan_holds(h_, e)) by_id[h_.events_[e].id_] = e;
  for (const auto& [id, event] : by_id) consider(rule::orphaned_event, event);
}

void evaluator::create_system_event(rule r) {
  event_record e;
  e.id_ = "sys:" + std::to_string(++h_.system_events_);
  e.system_ = true;
  h_.events_.push_back(e);
  std::set<std::string> recipients = h_.roster_;
  if (r == rule::missing_termination) recipients = {h_.activations_[h_.ended_since_gap_.back()].agent_};
  for (const std::string& agent : recipients) give(h_.events_.size() - 1, agent);
  out_.push_back(line_of(intervention{e.id_, "create", std::nullopt, recipients, true, {}}));
}

void evaluator::give_back_orphan(std::size_t event) {
  event_record& e = h_.events_[event];
  const std::string agent = *source_agent(event);
  give(event, agent, true);
  ++e.window_give_backs_;
  const std::string id = "give:" + e.id_ + ":" + std::to_string(e.window_give_backs_);
  out_.push_back(line_of(intervention{id, "reroute", e.id_, {agent}, any_session_can().inject_, {}}));
}

// A window belongs to no session's message, so any session of the run may carry out its healing.
capabilities evaluator::any_session_can() const {
  capabilities any{false, false, false, false, false};
  for (const auto& [name, s] : h_.sessions_) {
    any.inject_ = any.inject_ || s.capabilities_.inject_;
    any.reroute_ = any.reroute_ || s.capabilities_.reroute_;
    any.create_ = any.create_ || s.capabilities_.create_;
    any.cancel_ = any.cancel_ || s.capabilities_.cancel_;
  }
  return any;
}

void evaluator::update_windows(std::int64_t now) {
  update(h_.deadlock_, deadlock_holds(h_), now);
  update(h_.missing_termination_, missing_termination_holds(h_), now);
  for (std::size_t i = 0; i < h_.events_.size(); ++i) update(h_.events_[i].orphan_, orphan_holds(h_, i), now);
}

}  // namespace oracle
