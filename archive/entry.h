// An entry of a run's record: a message, a hello, a firing or a line of digd's own, with all its results.
//
// Ownership: an entry owns its strings, because it crosses from an engine thread to the writer thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/message.h"

namespace digd::archive {

enum class entry_kind : std::uint8_t {
  run_opened,      // `frame`: the first hello with the effective rules, mode and limits, as a trace begins
  session_joined,  // `frame` is the session's hello as received
  message,         // an accepted message; `frame` as received
  refused,         // a refused message that used up its seq; a replay takes `frame` instead of the message
  firing,          // windows that fired because time passed, without a message
  operator_mode,   // digd's own line: the operator's switch; `frame` says to which mode
  limit,           // digd's own line: what a limit did
  semantics,       // digd's own line: the version of the rules that judges the later entries
  decision,        // digd's own line: a person's decision on a hold
  run_deleted,     // not stored: deletes everything of the run
  judgement,       // not stored as an entry: a person's opinion on a stored detection
  barrier,         // not stored: `durable` reports its `seq` once all that the producer pushed before is durable
};

std::string_view to_string(entry_kind);  // as in the column `kind`
std::optional<entry_kind> entry_kind_from(std::string_view);

// A line that digd added to the record by itself: operator_mode, limit, semantics or decision. Its type is its kind's
// name.
bool is_own_line(entry_kind);

struct detection_row {
  std::string rule, severity;
  std::optional<std::string> session;
  std::optional<std::uint64_t> at;
  std::int64_t ts = 0;
  std::optional<std::string> event, agent;
  bool healed = false;
  std::optional<std::string> healing, cause;
  std::string reason;
  std::string json;                           // the complete detection, with its witness
  std::optional<std::string> subject, place;  // docs/archive.md
  std::optional<std::string> action, limits;  // of a guard: its action, and the limits that were passed (JSON)
  std::optional<std::string> hold;            // the hold that began with it
};

struct intervention_row {
  std::string id, action;
  std::optional<std::string> event;
  std::int64_t ts = 0;
  std::string json;  // the frame as sent
};

struct outcome_row {
  std::string rule, outcome;
  std::int64_t ts = 0, detected_ts = 0;
  std::optional<std::string> event;
};

struct judgement_row {
  std::int64_t detection = 0;  // detections.id
  std::string judgement;       // right or wrong; empty: remove the stored one
  std::string judged_by;
  std::uint64_t ticket = 0;  // `durable` returns it
};

// The content of an entry without rows (detections, interventions, outcomes). Most messages have none. The caller owns
// the texts.
struct plain_entry {
  entry_kind kind = entry_kind::message;
  bool only_deliveries = false;  // as in `entry`
  std::uint64_t run_number = 0, seq = 0, n = 0;
  std::int64_t ts = 0, arrived_ms = 0;
  std::string_view session, type, frame, code, verdicts, ended;
  std::string_view answered;  // empty: none
  std::optional<usage_amounts> used;

  std::size_t bytes() const;  // `entry::bytes` of the entry with this content
};

struct entry {
  entry_kind kind = entry_kind::message;
  std::uint64_t run_number = 0;  // from `next_run_number`
  std::string run;               // of run_opened only
  std::string session;
  std::uint64_t seq = 0;
  std::uint64_t n = 0;          // position in the run: 1, 2, 3 …
  std::int64_t ts = 0;          // the run's time
  std::int64_t arrived_ms = 0;  // Unix milliseconds, for people and retention; rules never see it
  std::string type;
  std::string frame;
  std::string code;      // of refused only
  std::string token;     // of run_opened and session_joined: the name of the client's token; empty: none was needed
  std::string verdicts;  // the `verdicts` frame as sent, or the ids of its events (below); may be empty
  // Each verdict is a plain `deliver`: `verdicts` is the JSON array of the events' ids, which is enough
  // (verdict_text.h).
  bool only_deliveries = false;
  std::optional<std::string> answered;  // of a delivery report: the intervention, or else the event, that it is about
  std::string ended;                    // of run_ended: its outcome ("success", …, "unknown"); else empty
  std::vector<detection_row> detections;
  std::vector<intervention_row> interventions;
  std::vector<outcome_row> outcomes;
  std::optional<usage_amounts> used;             // what the message reports
  std::shared_ptr<const judgement_row> opinion;  // of judgement only

  std::size_t bytes() const;  // approximate size in memory

  void assign(const plain_entry& content);  // fills an empty entry

  // Clears the entry. Its usual texts keep their memory.
  void reset();
  std::size_t text_capacity() const;  // the memory that `reset` keeps

  // Shrinks an entry that is too large to be stored. It removes texts that a replay can restore: those over
  // `max_shrunk_bytes` among its verdicts, detections and interventions. The frame stays. False: there is nothing to
  // remove.
  static constexpr std::size_t max_shrunk_bytes = 65'536;
  bool shrink();
};

// Allocated once and handed over by pointer: moving its half kilobyte at each step costs more than the allocation.
using entry_ptr = std::unique_ptr<entry>;

}  // namespace digd::archive
