// Reads detections, interventions and ends of runs for webhooks, without the messages around them. It has a read-only
// connection of its own.
//
// Thread: one at a time; open one for each reading thread. Bounds: a piece has `max_rows` of each kind or about
// `max_bytes`; the labels of `max_labels` runs are cached. Failure: an error code; nothing throws.
#pragma once

#include <boost/system/result.hpp>
#include <boost/unordered/unordered_flat_map.hpp>
#include <compare>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "archive/sqlite.h"
#include "model/callback.h"

namespace digd::archive {

using digd::callback_kind;
using digd::callback_text;

// A detection or an intervention: its row, and the fields that filters read.
struct callback_row {
  callback_kind kind = callback_kind::detection;
  std::int64_t row = 0;  // in its table; never used again
  std::uint64_t run_number = 0;
  std::int64_t entry = 0;        // entries.id: the entry that it belongs to
  std::int64_t archived_ms = 0;  // Unix milliseconds
  std::string agent;             // of the detection, or of the intervention's first detection; may be empty
  bool has_hold = false;         // the detection began a hold
  std::string symptoms;          // rule and severity, "deadlock failure"; an intervention may have several, with commas
};

// A position in both tables: the last rows that were handled.
struct callback_position {
  std::int64_t detection = 0, intervention = 0;
  // From 0: the highest runs.number that [otlp_export] has looked at (daemon/webhook/ended_runs.h). -1: it has looked
  // at none. Below -1: it has looked at none, but an older digd exported all ends up to the time -1 - run (Unix
  // milliseconds).
  std::int64_t run = -1;
  bool operator==(const callback_position&) const = default;
};

struct ended_run {
  std::int64_t ended_ms = 0;  // Unix
  std::uint64_t number = 0;
  auto operator<=>(const ended_run&) const = default;
};

struct run_state {
  std::uint64_t number = 0;
  std::optional<std::int64_t> ended_ms;  // Unix; nullopt: it is open
};

struct callback_piece {
  std::vector<callback_row> rows;  // ordered by entry; within an entry, detections come first
  callback_position upto;
  bool more = false;  // there may be more rows after it
};

class callback_reader {
 public:
  static constexpr std::size_t max_rows = 256;
  static constexpr std::size_t max_bytes = 4u << 20;
  static constexpr std::size_t max_labels = 10'000;

  using labels = std::vector<std::pair<std::string, std::string>>;

  static boost::system::result<std::unique_ptr<callback_reader>> open(const std::string& path,
                                                                      std::string* problem = nullptr);

  // The position behind the last rows that are stored.
  boost::system::result<callback_position> end();
  // The highest row numbers ever used, including those of runs that are deleted now.
  boost::system::result<callback_position> highest_ever();
  boost::system::result<callback_piece> after(const callback_position& from);
  // The runs with higher numbers, in order; at most `max_rows`.
  boost::system::result<std::vector<run_state>> runs_after(std::uint64_t number);
  // nullopt: the archive does not have the run, or is deleting it.
  boost::system::result<std::optional<run_state>> state_of(std::uint64_t number);
  // The numbers of all open runs, including those that are being deleted.
  boost::system::result<std::vector<std::uint64_t>> open_runs();
  // nullopt: the run was deleted.
  boost::system::result<std::optional<callback_text>> text_of(callback_kind kind, std::int64_t row);
  // From the run's hello.
  boost::system::result<labels> labels_of(std::uint64_t run_number);
  // The id of a run; nullopt: it was deleted.
  boost::system::result<std::optional<std::string>> run_of(std::uint64_t run_number);

 private:
  callback_reader() = default;
  failure prepare();
  failure read(statement& from, callback_kind kind, std::int64_t after, std::vector<callback_row>& out, bool& full);

  connection db_;
  statement end_, highest_, detections_, interventions_, runs_after_, state_, open_, detection_, intervention_,
      ended_run_, labels_, run_;
  boost::unordered_flat_map<std::uint64_t, labels> remembered_;
};

}  // namespace digd::archive
