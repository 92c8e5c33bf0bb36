// Reads what somebody outside may have to be told: detections and interventions, in the order they were written,
// without the messages around them. A read-only connection of its own.
//
// Threads: one at a time, any; open one for each thread that reads. Bounds: a piece has `most_rows` of each kind or
// about `most_bytes`; `most_labels` runs' labels are remembered. Failure: an error code; nothing throws.
#pragma once

#include <boost/system/result.hpp>
#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "archive/sqlite.h"

namespace digd::archive {

enum class callback_kind : std::uint8_t { detection, intervention };

// A detection or an intervention: which row it is, and what filters ask about it.
struct callback_row {
  callback_kind kind = callback_kind::detection;
  std::int64_t row = 0;  // in its table; never used again
  std::uint64_t run_number = 0;
  std::int64_t entry = 0;        // entries.id: what it came with
  std::int64_t archived_ms = 0;  // Unix milliseconds
  std::string symptoms;          // "deadlock failure": rule and severity; of an intervention all of them, with commas
};

// The last rows of both tables that were dealt with.
struct callback_position {
  std::int64_t detection = 0, intervention = 0;
  bool operator==(const callback_position&) const = default;
};

struct callback_piece {
  std::vector<callback_row> rows;  // by entry; of one entry the detections come first
  callback_position upto;
  bool more = false;  // there may be more behind it
};

// What a callback says.
struct callback_text {
  std::string run;   // the run's id
  std::string json;  // the detection, or the intervention as it was sent
};

class callback_reader {
 public:
  static constexpr std::size_t most_rows = 256;
  static constexpr std::size_t most_bytes = 4u << 20;
  static constexpr std::size_t most_labels = 10'000;

  using labels = std::vector<std::pair<std::string, std::string>>;

  static boost::system::result<std::unique_ptr<callback_reader>> open(const std::string& path,
                                                                      std::string* why = nullptr);

  // The highest rows there are.
  boost::system::result<callback_position> end();
  // The highest that ever were, those of deleted runs too.
  boost::system::result<callback_position> highest_ever();
  boost::system::result<callback_piece> after(const callback_position& from);
  // Nothing if the row is gone: its run was deleted.
  boost::system::result<std::optional<callback_text>> text_of(callback_kind kind, std::int64_t row);
  // As the run's hello gave them.
  boost::system::result<labels> labels_of(std::uint64_t run_number);
  // The id of a run; nothing if it was deleted.
  boost::system::result<std::optional<std::string>> run_of(std::uint64_t run_number);

 private:
  callback_reader() = default;
  failure prepare();
  failure read(statement& from, callback_kind kind, std::int64_t after, std::vector<callback_row>& out, bool& full);

  connection db_;
  statement end_, highest_, detections_, interventions_, detection_, intervention_, labels_, run_;
  boost::unordered_flat_map<std::uint64_t, labels> remembered_;
};

}  // namespace digd::archive
