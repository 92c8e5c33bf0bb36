// The messages of a trace that were refused, for people: the first ones with line, code and reason, and their number.
//
// Thread: one. Bounds: `max_shown` lines.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace digd::cli {

class refused_lines {
 public:
  // `line`: in the trace, from 1; 0: unknown. `field`: the offending field; empty if no single field is at fault.
  void add(std::uint64_t line, std::string_view code, std::string_view field, std::string_view reason);
  bool empty() const { return count_ == 0; }
  // Prints them to standard error; returns the exit status for them.
  int report(std::string_view command, const std::string& trace) const;

 private:
  static constexpr std::size_t max_shown = 20;
  std::uint64_t count_ = 0;
  std::vector<std::string> shown_;
};

}  // namespace digd::cli
