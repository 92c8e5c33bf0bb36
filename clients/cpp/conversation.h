// One session of a run as its client sees it: which messages wait for an ack, which events for a verdict.
//
// It keeps these rules of docs/protocol.md:
//   - Sequence numbers have no gaps, and the client is never more than `credits` messages ahead of the last ack.
//   - After a connection the client resumes from `acked_seq` + 1.
//   - After the deadline, and without a connection, events are delivered unchanged. A message that was not sent yet is
//     marked `as_is`; for one that was sent, a `delivery` follows.
//   - A second verdict on an event is ignored. The handler gets each intervention once.
//
// No I/O, no clock, no thread: the caller passes the time in and holds a lock. Bounds: `credits` messages and
// `max_bytes` bytes wait for an ack; `max_interventions` wait for the handler; `max_known` ids of interventions.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "clients/cpp/frames.h"
#include "digd/client.h"
#include "net/daemon_frame.h"

namespace digd::client {

using time_point = std::chrono::steady_clock::time_point;
using milliseconds = std::chrono::milliseconds;

// A message that blocks events. It is settled once each event has a verdict, from the daemon or as is.
struct ticket {
  std::vector<blocked_event> blocked;
  time_point deadline;
  bool fails_closed = false;  // a submit event that waits for its deadline even without a connection
  std::uint64_t seq = 0;      // 0: not sent
  std::optional<std::vector<verdict>> verdicts;
};

// `connecting`: the first attempt is in progress, and events wait for it until their deadline. `closed`: the client
// will not reconnect.
enum class connection_state : std::uint8_t { connecting, up, down, closed };

// How long events may wait.
struct hold_policy {
  bool hold = true;                       // false: not at all
  std::optional<milliseconds> max_added;  // in total; simultaneous waits count once. None: no limit
  milliseconds fail_closed{0};            // a submit event, even without a connection. 0: like other events
};

class conversation {
 public:
  static constexpr unsigned max_failed_healings = 3;  // then the run follows no more verdicts
  static constexpr unsigned max_moves = 5;            // in a row, from one daemon to another, without a welcome
  static constexpr std::size_t max_interventions = 1024;
  static constexpr std::size_t max_known = 4096;
  static constexpr std::size_t max_unanswered = 4096;  // then the oldest are given up

  conversation(hold_policy policy, std::size_t max_bytes)
      : policy_(policy), max_bytes_(max_bytes), no_hold_reason_(policy.hold ? "" : "unheld") {}

  // Adds a message. Its ticket is settled at once if there is nothing to wait for.
  std::shared_ptr<ticket> add(report message, time_point now);
  // Settles the ticket as is if its deadline has passed.
  void expire(const std::shared_ptr<ticket>& waiting, time_point now);

  // The connection is lost, or an attempt failed. Waiting events are delivered unchanged.
  void disconnect(time_point now);
  // A verdict or an intervention was not carried out. Returns true once, when the run stops following verdicts.
  bool add_failed_healing();
  bool follows_verdicts() const { return failed_healings_ < max_failed_healings; }
  // If set, events no longer wait, for this reason.
  const std::string& no_hold_reason() const { return no_hold_reason_; }

  // The client will not reconnect. From now on it delivers events unchanged, for this reason.
  void close(std::string_view reason);

  void receive(const net::daemon_frame& frame, time_point now);

  // The next frame to send; none before the welcome, or while the client has used up its credits.
  std::optional<std::string> take_frame();
  std::optional<intervention> take_intervention();

  connection_state state() const { return state_; }
  // The last seq up to which every answer has come; none before the first welcome.
  std::optional<std::uint64_t> answered_seq() const;
  // Every message is acknowledged.
  bool is_idle() const { return window_.empty() && unreported_ == 0; }
  bool wants_reconnect() const { return wants_reconnect_; }
  std::size_t message_bytes() const { return message_bytes_; }
  const std::string& mode() const { return mode_; }
  const client::counters& counters() const { return counters_; }
  // The last refusal of the daemon, once: code and message.
  std::optional<std::string> take_error();
  // The address of the daemon that has the run, once for each `moved`. The driver connects there.
  std::optional<std::string> take_move();

 private:
  static constexpr std::size_t reserved_places = 2;  // for a gap and the end of the run
  static constexpr unsigned max_missed_deadlines = 3;

  struct queued {
    report message;
    std::uint64_t seq = 0;  // 0: not sent
    bool as_is = false;
    std::shared_ptr<ticket> waiting;
  };

  std::string reason_not_to_wait(ticket& waiting, time_point now);
  time_point::duration added(time_point now) const;
  bool is_added_time_spent(time_point now) const;
  void update_added_time(time_point now);
  bool has_room(std::size_t bytes) const;
  void keep(queued message);
  void report_gap(bool last);
  void resume(std::uint64_t acked_seq);
  void drop_acked(std::uint64_t seq);
  void deliver_unchanged(ticket& waiting, std::string_view reason, time_point now);
  void settle(ticket& waiting, std::vector<verdict> verdicts);
  void settle_as_is(ticket& waiting, std::string_view reason);

  void on_welcome(const net::daemon_frame& frame);
  void on_verdicts(const net::daemon_frame& frame);
  void on_intervention(const net::daemon_frame& frame, time_point now);
  void on_error(const net::daemon_frame& frame);

  const hold_policy policy_;
  const std::size_t max_bytes_;
  connection_state state_ = connection_state::connecting;
  std::string close_reason_;
  std::string mode_;
  milliseconds deadline_{250};
  std::size_t message_bytes_ = 1u << 20;
  std::uint64_t credits_ = 1024;
  unsigned missed_deadlines_ = 0;  // in a row, without a frame from the daemon
  bool wants_reconnect_ = false;
  std::optional<std::string> moved_to_;
  unsigned moves_ = 0;    // in a row, without a welcome
  bool is_over_ = false;  // the run has ended
  std::optional<time_point> connect_deadline_;

  std::deque<queued> window_;  // sent, then unsent
  std::size_t sent_ = 0;       // of the window
  std::size_t window_bytes_ = 0;
  std::uint64_t acked_ = 0;
  std::uint64_t next_seq_ = 1;
  std::uint64_t unreported_ = 0;  // dropped messages that no gap has reported
  bool was_welcomed_ = false;

  std::string no_hold_reason_;
  time_point::duration added_{0};         // in periods that are over
  std::optional<time_point> held_since_;  // the period under way
  unsigned failed_healings_ = 0;

  std::vector<std::shared_ptr<ticket>> open_tickets_;              // one for each of the program's waiting threads
  std::map<std::uint64_t, std::shared_ptr<ticket>> sent_tickets_;  // of these, by seq
  std::set<std::uint64_t> unanswered_;                             // sent messages with blocked events
  std::deque<intervention> interventions_;
  std::unordered_set<std::string> known_interventions_;
  std::deque<std::string> known_order_;
  std::optional<std::string> error_;
  client::counters counters_;
};

}  // namespace digd::client
