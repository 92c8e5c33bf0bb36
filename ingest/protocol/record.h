// An item of a run's record: one frame that used up its seq, the passing of time, or something digd did by itself.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/answer.h"
#include "model/limit.h"
#include "model/message.h"
#include "model/settings.h"

namespace digd::ingest {

enum class record_kind : std::uint8_t {
  message,        // an accepted message
  refused,        // a refused frame
  firing,         // windows that fired with the passing of time
  operator_mode,  // an own line (below): the operator's switch
  limit,          // an own line: what a limit did
  semantics,      // an own line: the version of the rules from here on
  decision,       // an own line: a person's decision on a hold
};
std::string_view to_string(record_kind);

// The kind of a line of a record or a trace, by its `type`.
enum class line_type : std::uint8_t {
  message,  // a client's message, or any line of no other type
  hello,
  refused,        // it stands for a refused frame
  operator_mode,  // own lines
  limit,
  semantics,
  decision,
};
inline bool is_own_line(line_type type) { return type >= line_type::operator_mode; }

// In the place of a limit's policy: judging begins again.
inline constexpr std::string_view resume_word = "resume";

// A line that digd adds to a record by itself, so that a replay agrees. It has neither a session nor a seq.
struct own_line {
  record_kind kind = record_kind::operator_mode;  // operator_mode, limit, semantics or decision
  milliseconds ts = 0;
  digd::mode strongest = digd::mode::enforce;  // operator_mode: what the switch allows at most
  limit_id limit = limit_id::overload;         // limit: the one that was hit
  std::optional<limit_policy> policy;          // limit: what was done; none for judging_work, which the engine repeats
  bool resumes = false;                        // limit: judging begins again; then without a policy
  std::uint64_t version = 0;                   // semantics
  std::uint64_t hold = 0;                      // decision
  hold_end decision = hold_end::release;       // decision
  std::string text;                            // decision: for the agents
  std::string by;                              // decision: who decided, as authenticated
};

// Thread: that of the inbox. Ownership: the inbox's scratch, which uses its memory again. Lifetime: until the next call
// of an inbox with that scratch; `session` and `frame` may point into the inbox and into the caller's frame.
struct record {
  record() = default;
  record(const record&) = delete;  // its views point into it
  record& operator=(const record&) = delete;

  record_kind kind = record_kind::message;
  std::string_view session;             // of message and refused
  std::uint64_t seq = 0;                // of message and refused
  milliseconds ts = 0;                  // the run's time
  std::optional<message_type> message;  // of message
  std::string_view type;                // the name of the message's type, or of the kind
  std::string_view frame;               // as received; of a refused one, what a replay takes in its place
  digd::answer answer;
  std::string_view verdicts;               // the `verdicts` frame as sent; empty if none
  std::string event_ids;                   // of the verdicts as a JSON array, if each is a plain `deliver`; else empty
  std::vector<std::string> interventions;  // the frames with witnesses, in the order of answer.interventions
  std::string answered;                    // of a delivery report: its intervention, or its event; else empty
  std::optional<run_outcome> ended;        // an accepted run_ended
  std::optional<limit_id> limit;           // that refused the frame, or that one of digd's own lines is about
  std::optional<limit_policy> policy;      // of limit, as in `own_line`
  bool resumes = false;                    // of limit: judging begins again
  bool is_refusal_line = false;            // of refused: `frame` is not the message, but a line that stands for it
  std::optional<digd::mode> strongest;     // of operator_mode
  std::optional<usage_amounts> used;       // what an accepted message reports

  std::string response;    // what the session is sent: verdicts or error; empty if nothing
  std::string kept_frame;  // the text that `frame` views, if the caller does not own it

  void clear();  // keeps the memory
};

}  // namespace digd::ingest
