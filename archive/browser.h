// Reads an archive for people: lists in pages, totals of a run, and entries as they are written. It has a read-only
// connection of its own. To read a run as a whole, use reader.h.
//
// Thread: one at a time; open one browser for each reading thread. Bounds: a page has the length that the caller asks
// for; a piece of the tail has `max_entries` entries or about `max_bytes`. Failure: an error code; nothing throws.
#pragma once

#include <boost/system/result.hpp>
#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "archive/archive.h"
#include "archive/callback_reader.h"
#include "archive/sqlite.h"

namespace digd::archive {

struct run_row {
  std::uint64_t number = 0;
  std::string run;
  std::int64_t opened_ms = 0;
  std::optional<std::int64_t> last_ts;
  std::string ended;  // empty while the run is open
  std::optional<std::int64_t> ended_ms;
  std::uint64_t bytes = 0;               // of stored JSON
  std::optional<std::int64_t> heard_ms;  // Unix milliseconds: the latest hello or message
  std::optional<usage_amounts> used;     // totals; none: nothing was reported
};

// Totals of a run's entries.
struct run_tally {
  std::uint64_t messages = 0, refused = 0, firings = 0;
  std::string hello;                  // the frame of `run_opened`: the effective settings
  std::string operator_mode;          // the line of the latest switch; empty: none
  std::string unjudged;               // the line of the limit that stopped judging; empty: it is judged
  std::vector<std::string> sessions;  // each once, in the order of joining
  std::uint64_t detections = 0, healed = 0;
};

struct detection_count {
  std::string rule;
  bool healed = false;
  std::string cause, healing, outcome;  // empty: none
  std::uint64_t count = 0;
};

struct detection_item {
  std::int64_t id = 0, entry = 0;
  std::uint64_t place_in_entry = 1;  // among the entry's detections: 1, 2, 3 …
  std::string json, outcome;
  std::string judgement, judged_by;  // empty: none
  std::int64_t judged_ms = 0;
};

// ---- many runs at once, for `digctl pilot`

struct piloted_run {
  std::uint64_t number = 0;
  std::string run;
  std::int64_t opened_ms = 0;
  std::string ended;  // empty while it is open
  std::optional<std::int64_t> ended_ms;
  std::string mode, canary;  // when the run was opened; empty: unknown, or in no group
  std::uint64_t activations = 0;
  std::string metrics;  // JSON from run_ended; empty: none
};

// Healings that digd did, or would have done in shadow, in one run at one place.
struct piloted_healing {
  std::uint64_t run_number = 0;
  std::string rule;
  std::optional<std::string> subject, place;
  std::uint64_t would = 0, did = 0;  // detections: not healed because of the mode, and healed
  std::int64_t latest = 0;           // detections.id
};

struct piloted_judgement {
  std::uint64_t run_number = 0;
  std::string rule;
  std::optional<std::string> subject, place;
  std::string week;  // the Monday, UTC: 2026-11-16
  std::uint64_t right = 0, wrong = 0;
};

struct detection_text {
  std::int64_t entry = 0;
  std::uint64_t place_in_entry = 1;
  std::string reason;
};

// An entry with all its results, for the feed.
struct watched_entry {
  std::int64_t id = 0;  // the feed's SEQ: ascending in the order of writing, never used again
  std::uint64_t run_number = 0;
  std::string run, session, type, frame;
  std::string verdicts;  // the answer as sent: a `verdicts` frame, or `error` if refused; may be empty
  entry_kind kind = entry_kind::message;
  std::uint64_t seq = 0;
  std::int64_t ts = 0;
  std::vector<std::string> detections, interventions;  // JSON
  std::int64_t first_detection = 0;                    // detections.id of the first; those of an entry are consecutive
  std::vector<outcome_row> outcomes;

  std::size_t bytes() const;
};

// Replaces the stored form of the entry's `verdicts` by the frame as sent. If the entry lacks a detection to which the
// stored form refers, nothing changes. Entries that a `browser` returns already have the frame.
void expand_verdicts(watched_entry& entry);

class browser {
 public:
  static constexpr std::size_t max_entries = 1'024;
  static constexpr std::size_t max_bytes = 4u << 20;
  // Cached, so that a list counts only new entries.
  static constexpr std::size_t max_tallies = 20'000, max_tally_bytes = 32u << 20;

  static boost::system::result<std::unique_ptr<browser>> open(const std::string& path, std::string* problem = nullptr);

  // Newest first; only numbers below `before` (0: all).
  boost::system::result<std::vector<run_row>> runs(std::uint64_t before, std::uint64_t limit);
  // For retention: the runs that ended first, after the run `after` in this order.
  boost::system::result<std::vector<run_row>> oldest_ended(std::uint64_t limit, const ended_run& after = {});
  // For retention: the open runs without a message since `before_ms`.
  boost::system::result<std::vector<run_row>> quiet_since(std::int64_t before_ms, std::uint64_t limit);
  // Bytes of the file's pages that are in use.
  boost::system::result<std::uint64_t> used_bytes();
  // The latest run with that id.
  boost::system::result<std::optional<run_row>> find(std::string_view run);
  boost::system::result<run_tally> tally(std::uint64_t run_number);
  boost::system::result<std::vector<detection_count>> detection_counts(std::uint64_t run_number);
  // In the order of detection, beginning after the row `after`.
  boost::system::result<std::vector<detection_item>> detections(std::uint64_t run_number, std::int64_t after,
                                                                std::uint64_t limit);

  // The frame of a message as stored; nullopt: the entry is not a message of the run, or is deleted.
  boost::system::result<std::optional<std::string>> frame_of_entry(std::uint64_t run_number, std::int64_t entry);
  // The stored frame of the message whose event the hold keeps back; `hold` is a text such as hold:1. nullopt: not
  // stored, or deleted.
  boost::system::result<std::optional<std::string>> frame_of_hold(std::uint64_t run_number, std::string_view hold);

  boost::system::result<std::int64_t> last_seq();
  // The next piece after the entry `after`; only of one run if `run_number` is not 0.
  boost::system::result<std::vector<watched_entry>> entries_after(std::int64_t after, std::uint64_t run_number);

  // The n-th detection of an entry (1: the first); nullopt: there is none.
  boost::system::result<std::optional<std::int64_t>> find_detection(std::uint64_t run_number, std::int64_t entry,
                                                                    std::uint64_t place_in_entry);
  // nullopt: it was deleted.
  boost::system::result<std::optional<detection_text>> text_of_detection(std::int64_t id);

  // ---- over all runs opened since a time, newest first, at most `limit` rows

  boost::system::result<std::vector<piloted_run>> piloted_runs(std::int64_t opened_since_ms, std::uint64_t limit);
  // Grouped by run, rule, subject and place; the latest detection first.
  boost::system::result<std::vector<piloted_healing>> piloted_healings(std::int64_t opened_since_ms,
                                                                       std::uint64_t limit);
  boost::system::result<std::vector<piloted_judgement>> piloted_judgements(std::int64_t opened_since_ms,
                                                                           std::uint64_t limit);

 private:
  struct counted {
    std::int64_t upto = 0;  // entries.id: the last entry in `sum`
    std::int64_t detections_upto = 0;
    run_tally sum;
  };
  browser() = default;
  failure prepare();
  failure prepare_pilot();
  failure count_on(std::uint64_t run_number, counted& sum);
  failure first_row_after(statement& probe, std::int64_t entry, std::int64_t last, std::int64_t& id);
  failure read_entries(std::int64_t after, std::uint64_t run_number, std::vector<watched_entry>& out);
  failure add_rows(std::vector<watched_entry>& to);

  connection db_;
  statement oldest_ended_, quiet_, used_pages_, page_size_;
  statement runs_, find_, entries_, count_, count_detections_, group_, detections_, hold_frame_, entry_frame_,
      last_seq_;
  statement tail_, tail_run_;
  statement find_detection_, detection_text_, piloted_runs_, piloted_healings_, piloted_judgements_;
  statement detection_probe_, intervention_probe_, outcome_probe_;
  statement detection_rows_, intervention_rows_, outcome_rows_;
  statement detection_last_, intervention_last_, outcome_last_;
  boost::unordered_flat_map<std::uint64_t, counted> tallies_;
  std::size_t tally_bytes_ = 0;
};

}  // namespace digd::archive
