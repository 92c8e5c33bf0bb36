#include "cli/json_records.h"

#include <iostream>

namespace digd::cli {

json_records::json_records(std::string_view format) : is_array_(format == "json"), is_lines_(format == "jsonl") {}

void json_records::add(std::string_view record) {
  if (is_array_) std::cout << (is_first_ ? "[\n" : ",\n") << record;
  if (is_lines_) std::cout << record << '\n';
  is_first_ = false;
}

void json_records::finish() {
  if (is_array_) std::cout << (is_first_ ? "[]\n" : "\n]\n");
}

}  // namespace digd::cli
