#include "clients/cpp/conversation.h"

#include <algorithm>
#include <utility>

namespace digd::client {

using frame_kind = net::daemon_frame_kind;

// ---- messages to the daemon

std::shared_ptr<ticket> conversation::add(report message, time_point now) {
  auto waiting = std::make_shared<ticket>();
  waiting->blocked = message.blocked;
  waiting->fails_closed =
      policy_.fail_closed.count() > 0 && std::any_of(waiting->blocked.begin(), waiting->blocked.end(),
                                                     [](const blocked_event& blocked) { return blocked.submit; });
  waiting->deadline = now + (waiting->fails_closed ? std::max(deadline_, policy_.fail_closed) : deadline_);
  if (policy_.max_added) {
    update_added_time(now);
    waiting->deadline = std::min(waiting->deadline, now + *policy_.max_added - added(now));
  }
  std::string reason = reason_not_to_wait(*waiting, now);
  if (is_over_ || state_ == connection_state::closed) {
    reason = close_reason_.empty() ? "error:run_closed" : close_reason_;
  } else {
    ++counters_.messages;
    report_gap(message.last);
    if (message.last || has_room(message.members.size())) {
      is_over_ = message.last;
      keep({std::move(message), 0, !reason.empty(), waiting});
    } else {
      ++unreported_;
      ++counters_.dropped;
      reason = "credits";
    }
  }
  if (waiting->blocked.empty()) {
    waiting->verdicts.emplace();
  } else if (!reason.empty()) {
    settle_as_is(*waiting, reason);
  } else {
    open_tickets_.push_back(waiting);
    if (!held_since_) held_since_ = now;
  }
  return waiting;
}

// Empty: the message waits for its verdicts.
std::string conversation::reason_not_to_wait(ticket& waiting, time_point now) {
  if (!no_hold_reason_.empty()) return no_hold_reason_;
  switch (state_) {
    case connection_state::connecting:
      if (!connect_deadline_) connect_deadline_ = now + deadline_;
      if (!waiting.fails_closed) waiting.deadline = std::min(waiting.deadline, *connect_deadline_);
      return now >= waiting.deadline ? "disconnected" : "";
    case connection_state::down: return waiting.fails_closed ? "" : "disconnected";
    default: return !waiting.fails_closed && missed_deadlines_ >= max_missed_deadlines ? "timeout" : "";
  }
}

// ---- the time that the program waited

time_point::duration conversation::added(time_point now) const {
  return held_since_ ? added_ + (now - *held_since_) : added_;
}

bool conversation::is_added_time_spent(time_point now) const {
  return policy_.max_added && added(now) >= *policy_.max_added;
}

// Called after every change that may end a wait.
void conversation::update_added_time(time_point now) {
  if (held_since_ && open_tickets_.empty()) {
    added_ = added(now);
    held_since_.reset();
  }
  if (is_added_time_spent(now) && no_hold_reason_.empty()) no_hold_reason_ = "max_added_ms";
}

bool conversation::add_failed_healing() {
  if (++failed_healings_ != max_failed_healings) return false;
  if (no_hold_reason_.empty()) no_hold_reason_ = "healing_failed";
  return true;
}

bool conversation::has_room(std::size_t bytes) const {
  const std::uint64_t places = credits_ > reserved_places ? credits_ - reserved_places : 1;
  return window_.size() < places && window_bytes_ + bytes <= max_bytes_;
}

void conversation::keep(queued message) {
  window_bytes_ += message.message.members.size();
  window_.push_back(std::move(message));
}

void conversation::report_gap(bool last) {
  if (unreported_ == 0 || !(last || has_room(64))) return;
  keep({gap_report(std::exchange(unreported_, 0)), 0, false, nullptr});
}

// ---- waiting

void conversation::expire(const std::shared_ptr<ticket>& waiting, time_point now) {
  if (waiting->verdicts || now < waiting->deadline) return;
  if (is_added_time_spent(now)) {
    deliver_unchanged(*waiting, "max_added_ms", now);
  } else {
    if (state_ == connection_state::up) ++missed_deadlines_;
    ++counters_.timeouts;
    deliver_unchanged(*waiting, state_ == connection_state::up ? "timeout" : "disconnected", now);
  }
  update_added_time(now);
}

void conversation::deliver_unchanged(ticket& waiting, std::string_view reason, time_point now) {
  settle_as_is(waiting, reason);
  if (waiting.seq != 0) {
    for (const blocked_event& blocked : waiting.blocked) add(delivery_report(blocked.id, false, "as_is", reason), now);
    return;
  }
  for (std::size_t i = sent_; i < window_.size(); ++i) {
    if (window_[i].waiting.get() == &waiting) window_[i].as_is = true;
  }
}

void conversation::settle(ticket& waiting, std::vector<verdict> verdicts) {
  if (waiting.verdicts) return;
  const bool is_as_is =
      std::any_of(verdicts.begin(), verdicts.end(), [](const verdict& v) { return !v.as_is.empty(); });
  if (is_as_is) ++counters_.as_is;
  waiting.verdicts = std::move(verdicts);
  std::erase_if(open_tickets_, [&](const std::shared_ptr<ticket>& open) { return open.get() == &waiting; });
  const auto sent = sent_tickets_.find(waiting.seq);
  if (sent != sent_tickets_.end() && sent->second.get() == &waiting) sent_tickets_.erase(sent);
}

void conversation::settle_as_is(ticket& waiting, std::string_view reason) {
  std::vector<verdict> verdicts;
  verdicts.reserve(waiting.blocked.size());
  for (const blocked_event& blocked : waiting.blocked) verdicts.push_back(blocked.as_is(reason));
  settle(waiting, std::move(verdicts));
}

// ---- the connection

void conversation::disconnect(time_point now) {
  if (state_ == connection_state::closed) return;
  state_ = connection_state::down;
  wants_reconnect_ = false;
  const std::vector<std::shared_ptr<ticket>> open = open_tickets_;  // a copy: reports of deliveries change the table
  for (const std::shared_ptr<ticket>& waiting : open) {
    if (!waiting->fails_closed) deliver_unchanged(*waiting, "disconnected", now);
  }
  update_added_time(now);
}

void conversation::close(std::string_view reason) {
  if (state_ == connection_state::closed) return;
  state_ = connection_state::closed;
  close_reason_ = reason;
  while (!open_tickets_.empty()) settle_as_is(*std::shared_ptr(open_tickets_.back()), reason);
}

// Called after a welcome: the client sends every message above `acked_seq` again. A daemon that names a lower number
// than it acknowledged has lost its data. Then the client reports a gap and gives the remaining messages new numbers.
void conversation::resume(std::uint64_t acked_seq) {
  sent_ = 0;
  // The daemon sends the answers up to `acked_seq` again.
  std::erase_if(sent_tickets_, [&](const auto& item) { return item.first > acked_seq; });
  if (was_welcomed_ && acked_seq < acked_) {
    sent_tickets_.clear();
    unanswered_.clear();
    for (queued& message : window_) message.seq = 0;
    window_.push_front({gap_report(acked_ - acked_seq), 0, false, nullptr});
    window_bytes_ += window_.front().message.members.size();
    next_seq_ = acked_seq + 1;
  }
  while (!window_.empty() && window_.front().seq != 0 && window_.front().seq <= acked_seq) {
    window_bytes_ -= window_.front().message.members.size();
    window_.pop_front();
  }
  was_welcomed_ = true;
  acked_ = acked_seq;
  next_seq_ = std::max(next_seq_, acked_seq + 1);
  for (queued& message : window_) {
    if (message.message.members.size() <= 16 * message_bytes_) continue;
    window_bytes_ -= message.message.members.size();
    message.message = gap_report(1);  // the daemon closes the connection for such a message
    window_bytes_ += message.message.members.size();
  }
  report_gap(false);
}

std::optional<std::uint64_t> conversation::answered_seq() const {
  if (!was_welcomed_) return std::nullopt;
  return (unanswered_.empty() ? next_seq_ : *unanswered_.begin()) - 1;
}

void conversation::drop_acked(std::uint64_t seq) {
  while (sent_ > 0 && window_.front().seq <= seq) {
    window_bytes_ -= window_.front().message.members.size();
    window_.pop_front();
    --sent_;
  }
  acked_ = std::max(acked_, std::min(seq, next_seq_ - 1));
  report_gap(false);
}

std::optional<std::string> conversation::take_frame() {
  if (state_ != connection_state::up || sent_ == window_.size()) return std::nullopt;
  queued& next = window_[sent_];
  const std::uint64_t seq = next.seq != 0 ? next.seq : next_seq_;
  if (seq > acked_ + credits_) return std::nullopt;
  next.seq = seq;
  next_seq_ = std::max(next_seq_, seq + 1);
  ++sent_;
  if (!next.message.blocked.empty()) unanswered_.insert(seq);
  if (unanswered_.size() > max_unanswered) unanswered_.erase(unanswered_.begin());
  if (next.waiting && !next.waiting->verdicts) {
    next.waiting->seq = seq;
    sent_tickets_[seq] = next.waiting;
  }
  return next.message.frame(seq, next.as_is);
}

std::optional<intervention> conversation::take_intervention() {
  if (interventions_.empty()) return std::nullopt;
  intervention next = std::move(interventions_.front());
  interventions_.pop_front();
  return next;
}

std::optional<std::string> conversation::take_error() { return std::exchange(error_, std::nullopt); }

std::optional<std::string> conversation::take_move() {
  if (moved_to_) wants_reconnect_ = false;
  return std::exchange(moved_to_, std::nullopt);
}

// ---- frames from the daemon

void conversation::receive(const net::daemon_frame& frame, time_point now) {
  missed_deadlines_ = 0;
  switch (frame.kind) {
    case frame_kind::welcome: on_welcome(frame); break;
    case frame_kind::verdicts: on_verdicts(frame); break;
    case frame_kind::intervention: on_intervention(frame, now); break;
    case frame_kind::ack: drop_acked(frame.seq); break;
    case frame_kind::error: on_error(frame); break;
    case frame_kind::other: break;
  }
  update_added_time(now);
}

void conversation::on_welcome(const net::daemon_frame& frame) {
  ++counters_.connections;
  state_ = connection_state::up;
  moves_ = 0;
  mode_ = net::text_of(frame.body, "mode");
  credits_ = std::max<std::uint64_t>(1, frame.credits.value_or(credits_));
  message_bytes_ = frame.message_bytes.value_or(message_bytes_);
  if (frame.verdict_deadline_ms)
    deadline_ = milliseconds(std::min<std::uint64_t>(*frame.verdict_deadline_ms, 3'600'000));
  resume(frame.acked_seq);
}

void conversation::on_verdicts(const net::daemon_frame& frame) {
  unanswered_.erase(frame.seq);
  const auto found = sent_tickets_.find(frame.seq);
  if (found == sent_tickets_.end()) return;
  const std::shared_ptr<ticket> waiting = found->second;
  settle(*waiting, read_verdicts(frame.body, waiting->blocked));
}

void conversation::on_intervention(const net::daemon_frame& frame, time_point now) {
  intervention read = read_intervention(frame.body);
  if (!known_interventions_.insert(read.id).second) return;
  known_order_.push_back(read.id);
  if (known_order_.size() > max_known) {
    known_interventions_.erase(known_order_.front());
    known_order_.pop_front();
  }
  if (interventions_.size() < max_interventions) {
    interventions_.push_back(std::move(read));
  } else {
    add(delivery_report(read.id, true, "failed", "too many interventions wait"), now);
  }
}

void conversation::on_error(const net::daemon_frame& frame) {
  ++counters_.errors;
  if (frame.code == "moved" && moves_ < max_moves) {
    ++moves_;
    moved_to_ = net::text_of(frame.body, "to");
    wants_reconnect_ = true;
    return;
  }
  error_ = frame.code + ": " + frame.message;
  if (frame.fatal) return close("error:" + frame.code);
  if (frame.code == "bad_seq" || state_ != connection_state::up) {
    wants_reconnect_ = true;  // the next welcome names the seq to continue from
    return;
  }
  unanswered_.erase(frame.seq);
  const auto found = sent_tickets_.find(frame.seq);
  if (found == sent_tickets_.end()) return;
  const std::shared_ptr<ticket> waiting = found->second;
  settle_as_is(*waiting, "error:" + frame.code);
}

}  // namespace digd::client
