// A run with its sessions. It takes frames and returns effects. A live socket, a trace file, a recovered archive and a
// simulation all call it; only the caller and its use of the effects differ.
//
//   inbox::receive → decode → sequence → run::apply (check, record, judge, heal) → encode → effects
//
// Thread: that of its run. The caller passes the time. Bounds: the limits of the run; `window` unacked replies and held
// frames a session, which the caller keeps to; the latest `max_outstanding` interventions without a report.
//
// Every call that returns effects invalidates those of the call before, by any inbox with the same scratch.
#pragma once

#include <boost/container/deque.hpp>  // unlike std::deque, it uses no memory while it is empty
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
#include "ingest/protocol/effects.h"
#include "ingest/protocol/record.h"
#include "ingest/protocol/reply_log.h"
#include "model/answer.h"
#include "model/settings.h"

namespace digd::ingest {

struct session {
  std::string name;
  hello greeting;
  std::uint64_t taken_seq = 0;  // the last seq used up
  // The last seq that the connection sent; below taken_seq while the client repeats old frames.
  std::uint64_t place = 0;
  std::uint64_t durable_seq = 0;  // the last seq that is durable
  reply_log unacked;              // answers that the client may ask for again after a reconnect
  struct held_frame {
    std::string frame;
    milliseconds release_at;
    std::size_t too_large = 0;  // bytes of a frame too large to be kept; then `frame` is empty
    // The unseen id that it waits for: until it is seen, the frame is not decoded again; empty: unknown.
    std::string awaited = {};
    bool awaits_event = false;  // whether `awaited` is an event, not an activation
  };
  boost::container::deque<held_frame> held;  // waits for ids from other sessions
  std::size_t held_bytes = 0;
};

// The buffers for handling a frame. All inboxes of a thread share one scratch, because it is most of the memory of a
// small run.
struct scratch {
  ingest::decoder decoder;
  digd::message message;
  ingest::effects effects;
};

class inbox {
 public:
  struct options {
    bool hold = false;          // wait for ids that other sessions have not sent yet (live only)
    bool keep_replies = false;  // for clients that reconnect (live only)
    // Keeps the latest answers even after their messages are durable. Set without an archive.
    bool keep_durable_replies = false;
    std::size_t window = 1024;  // the credits of a session
  };
  static constexpr std::size_t max_outstanding = 1000;
  // A message may release many held frames. One call handles at most `max_released` of them, and stops earlier if their
  // bytes and the ids visited for them exceed `max_released_work`. If frames remain, `next_due` is due at once: the
  // next call handles them after other runs of the thread had their turns.
  static constexpr std::size_t max_released = 256;
  static constexpr std::uint64_t max_released_work = 1u << 20;
  static constexpr std::size_t max_durable_reply_bytes = 1u << 20;  // of a session

  inbox(const hello& first, const run_settings& settings, options options);

  // A session joins or reconnects. Returns it, or the refusal (`over_limit`, `hello_conflict`).
  struct joined {
    refusal_note refused;
    session_index session = 0;
    bool changed = false;  // new, or reconnected with other capabilities: must be recorded
  };
  joined join(const hello& greeting, const run_policy& policy);
  // Sends the interventions again that a reconnected session has not answered. If the client names its `answered_seq`,
  // sends before them the durable answers above it that the session still keeps.
  const effects& resume(session_index s, std::optional<std::uint64_t> answered_seq = {});

  // Takes one frame. `stamp`: arrival in Unix milliseconds, the time that counts with the wall clock.
  const effects& receive(session_index s, std::string_view frame, milliseconds stamp);
  // A frame too large to be read; the socket closes the connection at 16 times the limit.
  const effects& receive_too_large(session_index s, std::size_t bytes, milliseconds stamp);
  // Time passes: windows with the wall clock, held frames with either.
  const effects& advance(milliseconds now);
  // The session's connection is closed to free memory: forgets its held frames, which the client sends again.
  void drop_held(session_index s);

  // ---- own lines; each is put into the record
  // The operator's switch.
  const effects& switch_mode(mode strongest, milliseconds stamp);
  // Applies a person's decision on a hold: the hold, decision, text and by of `line`. If the hold has ended, it refuses
  // the decision with hold_closed, and the record gets no line.
  struct decided {
    refusal_note refused;
    const ingest::effects& effects;
  };
  decided decide(const own_line& line, milliseconds stamp);
  // A run of an older version of the semantics continues under the current one, after a gap.
  const effects& adopt_semantics(milliseconds stamp);
  // The daemon hit a limit of its own (`overload`, `run_bytes`), and the run degrades.
  const effects& hit(limit_id which, limit_policy policy, milliseconds stamp);
  // Judging begins again, after `overload` has passed. Every session gets a `judging_resumed`.
  const effects& resume_judging(milliseconds stamp);

  // While set, every message except `run_ended` is refused with it. The record then has a line that replaces the
  // message.
  void refuse_messages(std::optional<refusal_note> refusal) { refusal_ = std::move(refusal); }

  // ---- reading back a trace or an archive
  // Repeats the change that one of digd's own lines records.
  const effects& follow(const own_line& line);
  // A frame that was refused when it was recorded: the frame itself, or the line that replaces it. It gets the same
  // answer as then.
  const effects& receive_refused(session_index s, std::string_view line, milliseconds stamp);

  // When `advance` is next needed; none if nothing is waiting.
  std::optional<milliseconds> next_due() const;
  // All messages of the session up to `seq` are on disk and synced.
  void durable(session_index s, std::uint64_t seq);

  // From now on the inbox runs on the thread of this scratch. Until then it has its own.
  void set_scratch(std::shared_ptr<scratch> scratch) { work_ = std::move(scratch); }

  // Whether to wait for ids that other sessions have not sent yet. Off while an archive is read back.
  void hold_unseen(bool on) { options_.hold = on; }

  const digd::run& run() const { return run_; }
  const std::string& name() const { return name_; }
  const std::vector<session>& sessions() const { return sessions_; }
  std::optional<session_index> find_session(std::string_view name) const;

 private:
  struct outstanding {
    digd::intervention intervention;
    digd::answer answer;                         // its detections
    std::set<session_index> reporting_sessions;  // sessions that reported on it
  };

  scratch& work();
  effects& begin();
  void update_able();

  void take(session_index s, std::string_view frame, milliseconds stamp, bool may_wait);
  void repeat(session_index s, std::uint64_t seq);
  void forget_replies(session& of);
  void send_bad_seq(session_index s, std::uint64_t seq);
  void refuse(session_index s, std::uint64_t seq, const refusal_note& note, std::string_view as_received,
              std::optional<milliseconds> passes);
  void refuse_too_large(session_index s, std::size_t bytes, milliseconds stamp);
  void keep_and_answer(session_index s, record& item);

  void pass_time(milliseconds now);
  std::optional<digd::run::named_id> missing_id(const message& m) const;
  session::held_frame& hold(session& from, std::string_view frame, milliseconds stamp, std::size_t too_large = 0);
  bool must_still_wait(const session::held_frame& head, milliseconds now) const;
  void release_held(milliseconds now);

  bool degrade_for(record& refused, milliseconds stamp);
  void degrade(record& item, limit_id hit, limit_policy policy, milliseconds stamp);
  void begin_again(milliseconds stamp);
  void keep_unjudged(const std::vector<std::string>& events);
  void keep_own_line(record& item, const own_line& line);
  refusal_note decide_at(const own_line& line, milliseconds when);
  static intervention session_part(session_index s, const intervention& whole);

  void encode_interventions(record& item);
  void send_interventions(const record& item);
  void send_intervention(session_index s, const outstanding& pending);
  bool is_addressee(session_index s, const intervention& intervention) const;
  void note_answered(session_index s, std::string_view id);

  std::string name_;
  digd::run run_;
  options options_;
  std::vector<session> sessions_;
  boost::container::deque<outstanding> outstanding_;
  std::optional<refusal_note> refusal_;
  std::size_t held_count_ = 0;  // over all sessions
  // When `release_held` stopped although it could have released more frames; none: it did not.
  std::optional<milliseconds> unfinished_release_;
  std::shared_ptr<scratch> work_;
};

}  // namespace digd::ingest
