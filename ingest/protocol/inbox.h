// A run with its sessions: frames in, frames out. The one path for a live socket, a trace file, a recovered
// archive and a simulation; they differ in who calls it and in the sink.
//
//   inbox::receive → decode → sequence → run::apply (check, record, judge, heal) → encode → sink
//
// Thread: that of its run. Time is handed in. Bounds: the limits of the run; `window` unacked replies and held
// frames a session; `max_outstanding` interventions, of which the oldest is given up.
#pragma once

#include <boost/container/deque.hpp>  // unlike the standard one it takes no memory while it is empty
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "engine/policy.h"
#include "engine/run.h"
#include "ingest/protocol/decode.h"
#include "model/answer.h"
#include "model/settings.h"

namespace digd::ingest {

using session_index = std::size_t;

// What happened with one frame, or with the passing of time, for whoever keeps the record. Views and references
// live until the call returns.
struct taken {
  enum class what_kind : std::uint8_t {
    message,
    refused,
    firing,
    operator_mode,
    limit,
    semantics
  } kind = what_kind::message;
  std::string_view session;  // empty for what is the monitor's own
  std::uint64_t seq = 0;
  milliseconds ts = 0;     // the run's time that counts
  std::string_view type;   // the message's; "refused"; "firing"; "operator_mode"; "limit"; "semantics"
  std::string_view frame;  // as received; of a refused one, what stands for it in a replay
  const digd::answer& answer;
  std::string_view verdicts;                      // the frame as sent; empty if none
  const std::vector<std::string>& interventions;  // the frames, in the order of answer.interventions
  std::string_view answered;                      // the intervention that a delivery report answers
  std::optional<run_outcome> ended;               // a run_ended message was accepted
  std::optional<limit_id> limit;                  // that refused it, or made the run give way
};

// The mode in a line that `inbox::switch_mode` wrote; nothing if it is no such line.
std::optional<mode> operator_mode_of(std::string_view line);

// A line that `inbox` wrote when a limit made its run give way.
struct limit_line {
  limit_id hit = limit_id::overload;
  limit_policy policy = limit_policy::observe;
};
std::optional<limit_line> limit_line_of(std::string_view line);
// Whether `inbox::adopt_semantics` wrote the line, for the current version.
bool adopts_current_semantics(std::string_view line);

// Whether it is a line of the monitor's own, which `inbox::follow` takes.
bool is_own_line(std::string_view line);

class sink {
 public:
  virtual ~sink() = default;
  // A frame for a client: `error`, `verdicts` or `intervention`.
  virtual void send(session_index to, std::string_view frame) = 0;
  // A frame that has been taken before came again: the client is told what is durable.
  virtual void repeated(session_index from) = 0;
  // Called once for each new frame that used up its seq, and for each firing of windows; before `send`.
  virtual void took(const taken& record) = 0;
};

struct session {
  std::string name;
  hello greeting;
  std::uint64_t taken_seq = 0;    // the last seq used up
  std::uint64_t place = 0;        // how far the connection has come: behind taken_seq while it sends again what it kept
  std::uint64_t durable_seq = 0;  // the last one told durable
  struct reply {
    std::uint64_t seq;
    std::string frame;  // empty: none was due
  };
  boost::container::deque<reply> unacked;  // for a client that reconnects before it heard
  struct held_frame {
    std::string frame;
    milliseconds release_at;
    std::size_t too_large = 0;  // bytes of one too large to be kept; then `frame` is empty
  };
  boost::container::deque<held_frame> held;  // waits for other sessions' ids
};

// What taking a frame needs and nothing keeps. One serves all inboxes of a thread: its buffers are most of what a small
// run would take.
struct scratch {
  decoder reads;
  digd::message message;
  digd::answer response;
  std::string out;
  std::vector<std::string> intervention_frames;
};

class inbox {
 public:
  struct options {
    bool hold = false;          // wait for ids that other sessions have yet to name (live only)
    bool keep_replies = false;  // for clients that reconnect (live only)
    std::size_t window = 1024;  // the credits of a session
  };
  static constexpr std::size_t max_outstanding = 1000;

  inbox(const hello& first, const run_settings& settings, sink& to, options options);

  // A session joins, or comes back. Returns it, or why not (`over_limit`, `hello_conflict`).
  struct joined {
    refusal_note refused;
    session_index session = 0;
    bool changed = false;  // new, or back with other capabilities: belongs into the record
  };
  joined join(const hello& greeting, const run_policy& policy);
  // Sends again what is owed to a session that came back: interventions that it has not answered.
  void resume(session_index s);

  // Takes one frame. `stamp`: arrival in Unix milliseconds, what counts with the wall clock.
  void receive(session_index s, std::string_view frame, milliseconds stamp);
  // A frame too large to be read (over 16 times the limit are the socket's business).
  void receive_too_large(session_index s, std::size_t bytes, milliseconds stamp);
  // Time passes: windows with the wall clock, held frames with either.
  void advance(milliseconds now);
  // The operator's switch. Said to the record as a line of its own, `operator_mode`, so that a replay agrees.
  void switch_mode(mode strongest, milliseconds stamp);
  // A run of an older version of the semantics goes on under the current one, after a gap; the record has a line of it.
  void adopt_semantics(milliseconds stamp);
  // A limit that is not the engine's made the run give way (`overload`, `run_bytes`); the record has a line of it,
  // `limit`.
  void hit(limit_id which, limit_policy policy, milliseconds stamp);
  // While set, every message but `run_ended` is refused with it. Its record is short: a line that stands for the
  // message.
  void turn_away(std::optional<refusal_note> why) { turned_away_ = std::move(why); }
  // ---- reading a record back: a trace, an archive
  // A line of the monitor's own, as `took` told it. False: it cannot be read.
  bool follow(std::string_view line);
  // A client's frame, or the line that stands for one that was refused: it is answered as it was then.
  void receive_recorded(session_index s, std::string_view line, milliseconds stamp);

  // When `advance` is next needed; none if nothing is waiting.
  std::optional<milliseconds> next_due() const;
  // All of a session's messages up to `seq` are on disk and synced.
  void durable(session_index s, std::uint64_t seq);

  // From now on on the thread of this one, which is shared there; until then it has one of its own.
  void work_with(std::shared_ptr<scratch> of_the_thread) { work_ = std::move(of_the_thread); }

  // Whether to wait for ids that other sessions have yet to name: not while an archive is read back.
  void hold_unseen(bool on) { options_.hold = on; }

  const digd::run& run() const { return run_; }
  const std::string& name() const { return name_; }
  message_type last_type() { return work().message.type; }  // of the message in hand, while the sink hears of it
  const std::vector<session>& sessions() const { return sessions_; }
  std::optional<session_index> find_session(std::string_view name) const;

 private:
  scratch& work() {
    if (!work_) work_ = std::make_shared<scratch>();
    return *work_;
  }

  struct outstanding {
    digd::intervention intervention;
    digd::answer answer;               // its detections
    std::set<session_index> heard_of;  // sessions that reported on it
  };

  void update_able();
  void take(session_index s, std::string_view frame, milliseconds stamp, bool may_wait);
  void repeat(session_index s, std::uint64_t seq);
  void forget_replies(session& who);
  void out_of_sequence(session_index s, std::uint64_t seq);
  void refuse(session_index s, std::uint64_t seq, const refusal_note& note, std::string_view frame,
              std::optional<milliseconds> passes);
  void answer_to(session_index s, std::uint64_t seq, std::string_view frame);
  void pass_time(milliseconds now);
  bool must_wait(const message& m) const;
  void hold(session& from, std::string_view frame, milliseconds stamp, std::size_t too_large = 0);
  bool degrades(milliseconds stamp);
  void degrade(limit_id hit, limit_policy policy, milliseconds stamp);
  void record_unjudged(std::vector<std::string> events);
  void tell_own_line(taken::what_kind kind, std::string_view type, std::string_view member,
                     std::optional<limit_id> limit);
  void refuse_too_large(session_index s, std::size_t bytes, milliseconds stamp);
  void release_held(milliseconds now);
  void encode_interventions();
  void send_interventions();
  void send_intervention(session_index s, const outstanding& intervention);
  bool is_addressee(session_index s, const intervention& intervention) const;
  void note_answered(session_index s, std::string_view id);

  std::string name_;
  digd::run run_;
  sink& sink_;
  options options_;
  std::vector<session> sessions_;
  boost::container::deque<outstanding> outstanding_;
  std::optional<refusal_note> turned_away_;
  std::size_t held_count_ = 0;  // over all sessions
  std::shared_ptr<scratch> work_;
};

}  // namespace digd::ingest
