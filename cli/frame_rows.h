// Frames sent to a client, as rows of a table: the same for a replay and for a live daemon.
//
// Thread: one. Bounds: `rows_at_once` rows wait for the printer's table. Failure: a frame that is not a JSON object
// has no row.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "cli/json_records.h"
#include "cli/table.h"

namespace digd::cli {

// Whether rows come one at a time, from a live daemon, or are complete, from a file.
enum class pace : std::uint8_t { live, complete };

table frame_table(const table::look& look, pace rows_come);
// Adds a row for each verdict, and one for an intervention or an error. Other frames have no row.
void add_frame(table& to, std::string_view frame);

// Prints frames to standard output: as JSON, or as a table in portions.
class frame_printer {
 public:
  // `format`: table, json or jsonl.
  frame_printer(std::string_view format, const table::look& look, pace rows_come)
      : records_(format), table_(frame_table(look, rows_come)) {}
  void frame(std::string_view text);
  void flush();    // prints the waiting rows; without any, not even the header
  void finish();   // ends the output; a table without rows is printed as its header
  void abandon();  // ends the output after an error; a table without rows prints nothing

 private:
  static constexpr std::size_t rows_at_once = 4'096;
  json_records records_;
  table table_;
};

}  // namespace digd::cli
