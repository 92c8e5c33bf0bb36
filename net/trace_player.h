// Plays a trace to a daemon as its client would: one connection for each session, in the order of the trace.
//
// Before each message, it waits for the answer to the latest held message. So the answers and their order do not depend
// on timing; with one session they equal those of a replay. Before it changes to another session, it waits until the
// daemon has answered or acked the messages of the previous session. At most `credits` messages are unacked. After a
// lost connection it reconnects a few times and sends unacked messages again; it passes on no answer twice.
//
// Thread: one; it blocks. Memory: the unacked messages, the state of their answers, the latest ids of interventions.
#pragma once

#include <boost/asio/io_context.hpp>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "ingest/protocol/decode.h"
#include "net/client.h"
#include "net/daemon_frame.h"

namespace digd::net {

struct play_options {
  server_address to;
  std::string token;
  std::string run;                             // another name for the run; empty: the trace's
  double speed = 0;                            // 1: the speed of the messages' ts; 0: as fast as possible
  std::chrono::milliseconds patience{30'000};  // for an answer, an ack, a connection
  unsigned tries = 8;                          // to reconnect; the pause before each doubles from `backoff` to 2 s
  std::chrono::milliseconds backoff{100};
};

struct play_counts {
  std::uint64_t messages = 0;  // sent to the daemon, each counted once
  std::uint64_t verdicts = 0;  // `verdicts` frames
  std::uint64_t interventions = 0;
  std::uint64_t errors = 0;
  std::uint64_t rejected = 0;  // refused messages; `errors` also counts lines that record an earlier refusal
  std::uint64_t acked = 0;     // messages
  std::uint64_t known = 0;     // messages that the daemon already had; not sent
  std::uint64_t reconnects = 0;
  std::uint64_t lost_answers = 0;  // held messages whose answer was lost with a connection
};

class trace_player {
 public:
  struct listener {
    // All frames except welcome and ack. With several sessions, each frame begins with the session to which the daemon
    // sent it.
    std::function<void(std::string_view frame)> frame;
    // A message of the trace that the daemon refused. Not called for a line that records an earlier refusal.
    std::function<void(std::uint64_t line, const daemon_frame& error)> refused;
    std::function<void(std::string_view notice)> notice;  // for people
    std::function<void()> idle;  // called before and during the wait for the time of the next message
  };

  trace_player(play_options options, listener to);
  ~trace_player();

  // Plays one line. False, with `problem` set, if it cannot continue.
  bool line(std::string_view text);
  // Waits until everything is acked, then closes the connections.
  bool finish();
  const std::string& problem() const { return problem_; }
  const play_counts& counted() const { return counts_; }
  // The run's id, once the first hello was played.
  const std::string& run() const { return run_; }

 private:
  using clock = std::chrono::steady_clock;
  enum class step_result : std::uint8_t { answered, lost, failed };

  struct session_state {
    std::string name;
    std::string hello;
    std::shared_ptr<websocket_client> socket;
    bool welcomed = false;
    std::uint64_t message_bytes = 1 << 20;
    std::uint64_t credits = 1024;
    std::uint64_t used = 0;  // the last seq that the played lines use up
    std::uint64_t acked = 0;
    std::uint64_t answered = 0;             // the highest seq answered on this connection
    std::uint64_t passed_on = 0;            // the highest seq whose answer went to the listener, on any connection
    std::uint64_t misplaced = 0;            // answers with the code bad_seq
    std::unordered_set<std::string> heard;  // the ids of the latest interventions that went to the listener
    std::deque<std::string> heard_order;
  };
  static constexpr std::size_t max_heard = 4096;
  static constexpr std::size_t max_unwritten = 1 << 20;

  struct entry {
    std::size_t session = 0;
    std::uint64_t line = 0;  // in the trace
    std::uint64_t seq = 0;   // the seq that it uses up; 0: none
    bool records_refusal = false;
    bool misplaced = false;  // its own seq is too high: the daemon answers bad_seq and records nothing
    bool expects = false;    // the daemon answers it
    std::optional<milliseconds> ts;
    std::string text;
  };

  bool greet(std::string_view text);
  std::optional<std::size_t> find_session(std::string_view name) const;
  entry entry_of(std::size_t session, std::string_view text);
  bool keep_time(const entry& next);
  bool drive();
  step_result step(const entry& e);
  step_result settle(std::size_t session);  // waits until the session's messages are answered or acked
  step_result connect(session_state& s);
  bool recover();
  void forget_acked();

  template <class Ready>
  step_result wait(session_state& s, const Ready& ready);
  void run_until(clock::time_point until);
  void hear();
  void hear_frame(session_state& s, const std::string& text);
  void hear_welcome(session_state& s, const daemon_frame& welcome);
  bool hear_answer(session_state& s, const daemon_frame& answer);
  void hear_refusal(const session_state& s, const daemon_frame& error);
  void hand_on(const session_state& s, std::string_view frame);
  bool is_news(session_state& s, const std::string& id);
  bool fail(std::string text);
  void fail_permanently(std::string text);  // reconnecting would not help
  std::string called(const session_state& s) const;

  play_options options_;
  listener to_;
  boost::asio::io_context io_;
  ingest::decoder decoder_;
  message scratch_;
  std::string run_;
  std::vector<session_state> sessions_;
  std::deque<entry> unacked_;
  std::size_t next_ = 0;                // index in unacked_ of the next message to send
  std::optional<std::size_t> speaker_;  // the session of the last message
  std::optional<milliseconds> first_ts_;
  clock::time_point first_at_{};
  std::uint64_t lines_ = 0;
  play_counts counts_;
  std::string problem_;
  bool final_ = false;
  unsigned fruitless_ = 0;  // consecutive reconnects without a frame from the daemon
  std::uint64_t progress_ = static_cast<std::uint64_t>(-1);
  std::string line_;
};

}  // namespace digd::net
