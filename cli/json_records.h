// Records for machines on standard output: a line each (jsonl), or together as a JSON array (json).
#pragma once

#include <string_view>

namespace digd::cli {

// Thread: one. Bounds: keeps nothing; a record is written when it is added.
class json_records {
 public:
  // `format`: "json", "jsonl", or another one that prints no records.
  explicit json_records(std::string_view format);

  bool is_on() const { return is_array_ || is_lines_; }
  void add(std::string_view record);
  void finish();  // ends the array; an array without records is []

 private:
  const bool is_array_, is_lines_;
  bool is_first_ = true;
};

}  // namespace digd::cli
