// What goes to the archive: one entry a message, hello, or window firing, with all that came of it.
// Entries own their strings: they cross from an engine thread to the writer thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace digd::archive {

enum class entry_kind : std::uint8_t {
  run_opened,      // `frame` is the hello of an exported trace: effective rules, mode, limits
  session_joined,  // `frame` is that session's hello as received
  message,         // an accepted message; `frame` as received
  refused,         // a refused one that used up its seq; `frame` is what is replayed in its place
  firing,          // windows that fired with the passing of time, no message
  operator_mode,   // digd's own line: the operator's switch; `frame` says to which mode
  limit,           // digd's own line: what a limit did
  semantics,       // digd's own line: the version of the rules from here on
  run_deleted,     // is not stored: everything of the run goes, for good
  judgement,       // is not stored as an entry: a person's opinion of a detection that is
};

std::string_view to_string(entry_kind);  // the names in the archive's `kind` column
std::optional<entry_kind> entry_kind_from(std::string_view);

// A line that digd added to the record by itself: operator_mode, limit or semantics. Its type is its kind's name.
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
  std::string json;                           // the whole detection, witness included
  std::optional<std::string> subject, place;  // docs/archive.md
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
  std::string judgement;       // right or wrong; empty: the one that is stored goes
  std::string judged_by;
  std::uint64_t ticket = 0;  // comes back in `durable`
};

struct entry {
  entry_kind kind = entry_kind::message;
  std::uint64_t run_number = 0;  // the archive's number of the run, given out by `next_run_number`
  std::string run;               // run_opened only
  std::string session;
  std::uint64_t seq = 0;
  std::uint64_t n = 0;          // position among all that was applied to the run: 1, 2, 3 …
  std::int64_t ts = 0;          // the stamp that counts
  std::int64_t arrived_ms = 0;  // Unix milliseconds, for people and retention; no rule sees it
  std::string type;
  std::string frame;
  std::string code;                     // refused only
  std::string verdicts;                 // the `verdicts` frame as sent; empty if none
  std::optional<std::string> answered;  // delivery: the intervention it answers
  std::string ended;                    // run_ended: its outcome ("success", …, "unknown"); else empty
  std::vector<detection_row> detections;
  std::vector<intervention_row> interventions;
  std::vector<outcome_row> outcomes;
  std::shared_ptr<const judgement_row> opinion;  // judgement only

  std::size_t bytes() const;  // about what it holds in memory
};

// Made where it stays until it is written: half a kilobyte that is moved from hand to hand costs more than the
// hand-over.
using entry_ptr = std::unique_ptr<entry>;

}  // namespace digd::archive
