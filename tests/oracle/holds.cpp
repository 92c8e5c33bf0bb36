// How holds end, and what a person's decision does.
#include "oracle.h"
#include "scan.h"

#include <algorithm>
#include <utility>

namespace oracle {

namespace json = boost::json;

namespace {

// N of PREFIX:N; 0 if it is not such an id.
std::size_t number_in(const std::string& id, const std::string& prefix) {
  if (id.rfind(prefix, 0) != 0) return 0;
  const std::string digits = id.substr(prefix.size());
  if (digits.empty() || digits.size() > 9 || digits[0] == '0') return 0;
  for (char c : digits)
    if (c < '0' || c > '9') return 0;
  return std::stoul(digits);
}

}  // namespace

// Only the latest interception of an event can be undone.
void evaluator::withdraw(std::size_t event, const std::set<std::string>& agents) {
  for (delivery& d : h_.events_[event].deliveries_) {
    d.intercepted_ = false;
    if (d.state_ != delivery_state::pending || agents.count(d.agent_) == 0) continue;
    d.state_ = delivery_state::withdrawn;
    d.intercepted_ = true;
  }
}

void evaluator::end_hold(std::size_t number, const std::string& ending, bool with_text) {
  hold_record& hold = h_.holds_[number - 1];
  hold.open_ = false;
  event_record& e = h_.events_[hold.event_];
  intervention ends{"hold:" + std::to_string(number), "release", e.id_, hold.agents_, with_text, {}};
  if (ending == "return") {
    ends.action_ = "reroute";
    ends.inject_ = true;
    ends.recipients_.clear();
    withdraw(hold.event_, hold.agents_);
    if (hold.sender_ && in_roster(h_, *hold.sender_)) {
      ends.recipients_.insert(*hold.sender_);
      if (!e.fyi_) give(hold.event_, *hold.sender_, hold.agents_.count(*hold.sender_) == 0);
    } else {
      e.to_nobody_ = true;
    }
  }
  hold_lines_.push_back(line_of(ends));
}

// A hold ends when a held recipient starts on the event, when no held delivery is pending any more, or when the client
// delivered the event as is.
void evaluator::end_taken_holds(const message& m) {
  const std::set<std::size_t> as_is = std::exchange(released_as_is_, {});
  for (std::size_t number = 1; number <= h_.holds_.size(); ++number) {
    const hold_record& hold = h_.holds_[number - 1];
    if (!hold.open_) continue;
    const event_record& e = h_.events_[hold.event_];
    const bool waits = std::any_of(hold.agents_.begin(), hold.agents_.end(),
                                   [&](const std::string& agent) { return is_pending_for(e, agent); });
    const bool started = m.type_ == message_type::activation_started && hold.agents_.count(m.agent_) != 0 &&
                         std::find(m.inputs_.begin(), m.inputs_.end(), e.id_) != m.inputs_.end();
    if (!waits || started || as_is.count(number) != 0) end_hold(number, "release", false);
  }
}

void evaluator::decide(const json::object& line) {
  const std::int64_t now = std::max(h_.clock_, line.at("ts").as_int64());
  if (!h_.ended_) handle_due(now);
  auto flush = [&] {
    for (std::string& text : std::exchange(hold_lines_, {})) out_.push_back(std::move(text));
  };
  flush();
  const std::size_t number = number_in(std::string(line.at("hold").as_string()), "hold:");
  if (number == 0 || number > h_.holds_.size() || !h_.holds_[number - 1].open_) {
    out_.push_back(error_line(std::nullopt, "", error_code::hold_closed, std::nullopt));
    return;
  }
  h_.clock_ = now;
  const hold_record hold = h_.holds_[number - 1];
  const std::string decision(line.at("decision").as_string());
  if (decision == "release" && hold.guard_ == rule::budget)
    h_.restarts_.push_back({hold.spender_, h_.usages_.size(), h_.activations_.size(), now});
  end_hold(number, decision, field(line, "text") != nullptr);
  flush();
  update_windows(h_.clock_);
  settle_and_forget();
}

bool evaluator::answers_guard(const message& m) const {
  if (!m.reports_of_) return false;
  const std::size_t hold = number_in(m.reported_event_, "hold:");
  const std::size_t cancelled = number_in(m.reported_event_, "cancel:");
  return (hold > 0 && hold <= h_.holds_.size()) || (cancelled > 0 && cancelled <= h_.cancels_);
}

std::optional<std::size_t> evaluator::event_reported(const message& m) const {
  if (!m.reports_of_) return find_event(h_, m.reported_event_);
  const std::size_t hold = number_in(m.reported_event_, "hold:");
  if (hold > 0 && hold <= h_.holds_.size()) {
    const std::size_t event = h_.holds_[hold - 1].event_;
    return find_event(h_, h_.events_[event].id_);
  }
  return find_event(h_, event_named_by(m.reported_event_));
}

}  // namespace oracle
