// Reads a stored run as a trace, piece by piece: for an answer over HTTP and for a file.
//
// It reads the entries that exist when it is opened, and no later ones. Between two pieces no transaction is open,
// so the writer is not disturbed. Thread: one at a time. Bounds: a piece has about `piece_bytes`, and at most what
// `reader` reads at once. Failure: an error code. `run_deleted` means that the run was deleted meanwhile, and the
// pieces read so far are not the run.
#pragma once

#include <boost/system/result.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "archive/reader.h"
#include "archive/trace_export.h"

namespace digd::archive {

class trace_source {
 public:
  static constexpr std::size_t piece_bytes = 1u << 20;

  static boost::system::result<std::unique_ptr<trace_source>> open(const std::string& path, std::uint64_t run_number,
                                                                   std::string* problem = nullptr);

  // The next lines, with line ends. Empty: there are no more.
  boost::system::result<std::string> next();

 private:
  explicit trace_source(std::uint64_t run_number)
      : run_number_(run_number), trace_([this](std::string_view line) { (piece_ += line) += '\n'; }) {}
  boost::system::result<void> read_more();

  const std::uint64_t run_number_;
  std::unique_ptr<reader> reads_;
  trace_export trace_;
  std::string piece_;
  std::vector<stored_entry> entries_;  // read; those from `taken_` on are not yet written
  std::size_t taken_ = 0;
  std::int64_t at_ = 0;  // entries.id
  std::int64_t upto_ = 0;
  bool done_ = false, finished_ = false;
};

}  // namespace digd::archive
