// Reads everything that the archive stores, in the order of writing, as one JSON object for each entry: the entry's
// columns, and the detections, interventions and outcomes that came with it. docs/fleet.md lists the fields. It has a
// read-only connection of its own.
//
// Thread: one at a time. Bounds: a piece has at most `max_rows` entries, and ends with the entry that passes
// `max_bytes`. Failure: an error code; nothing throws.
#pragma once

#include <boost/system/result.hpp>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "archive/sqlite.h"

namespace digd::archive {

// The last rows that were read of each table.
struct stream_position {
  std::int64_t entry = 0, detection = 0, intervention = 0, outcome = 0;
  bool operator==(const stream_position&) const = default;
};

struct streamed_entry {
  std::int64_t id = 0;  // entries.id
  std::int64_t run_number = 0;
  std::uint64_t n = 0;  // its position in the run
  std::string run;
  std::string session;  // of a client's message, accepted or refused; otherwise empty, and `seq` is 0
  std::uint64_t seq = 0;
  std::string json;
};

struct stream_piece {
  std::vector<streamed_entry> entries;
  stream_position upto;
};

class entry_stream {
 public:
  static constexpr std::size_t max_rows = 512;
  static constexpr std::size_t max_bytes = 4u << 20;

  static boost::system::result<std::unique_ptr<entry_stream>> open(const std::string& path,
                                                                   std::string* problem = nullptr);

  // The highest entry number ever given out, also to deleted runs.
  boost::system::result<std::int64_t> highest_ever();
  // How many entries follow. At most `max_counted`, so that the count stays cheap.
  boost::system::result<std::int64_t> count_after(std::int64_t entry);
  static constexpr std::int64_t max_counted = 1'000'000;
  // The entries that follow `from`, of runs that are not being deleted. Empty: there are no more.
  boost::system::result<stream_piece> after(const stream_position& from);
  boost::system::result<bool> exists(std::int64_t run_number);

 private:
  entry_stream() = default;
  failure prepare();

  connection db_;
  statement highest_, count_, entries_, exists_;
  statement detections_, interventions_, outcomes_;  // id, entry, JSON
};

}  // namespace digd::archive
