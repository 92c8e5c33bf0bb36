// How much past runs reached of the quantities that guards limit, and limits that would have let nearly all of these
// runs through (`digctl guards suggest`, docs/guards.md).
//
// Ownership: an `extent_reader` belongs to one run and one thread. Bounds: `max_names` events and activations of a run;
// what is beyond them is not measured. Failure: lines that are not JSON objects are ignored.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "model/rule_id.h"
#include "rules/guard_option.h"

namespace digd::stored {

// For each limit, by its name in the configuration: the greatest value that a run reached. If the run reported nothing
// about a limit, its value is missing or 0.
using run_extent = std::map<std::string_view, double>;

// Reads one run as an exported trace.
class extent_reader {
 public:
  static constexpr std::size_t max_names = 1'000'000;
  static constexpr std::size_t repetition_window = 50;  // the guard's default

  void take(std::string_view line);
  const run_extent& extent() const { return extent_; }

 private:
  struct activation {
    std::string agent;
    std::vector<std::string> inputs;
    bool has_output = false;  // then `inputs` are those that its outputs are derived from
    std::size_t outputs = 0;  // work
  };
  struct recorder;

  void raise(std::string_view limit, double value);

  run_extent extent_{};
  bool has_first_ts_ = false;
  std::int64_t first_ts_ = 0;
  std::unordered_map<std::string, std::uint32_t> depth_;  // by event
  std::unordered_map<std::string, activation> activations_;
  std::unordered_map<std::string, std::deque<std::size_t>>
      recent_outputs_;  // by agent: hashes of recipients and fingerprint
};

struct limit_suggestion {
  rule_id guard{};
  const guard_option* limit = nullptr;  // of the guard
  double value = 0;
  double greatest = 0;      // that a run reached
  std::size_t stopped = 0;  // runs that reached more than `value`
};

// The lowest `max_ms` that is suggested. How long a short run takes depends on the machine's load more than on the run,
// and `budget` warns at a share of the limit.
inline constexpr double shortest_max_ms = 60'000;

// `margin` times the value that `percentile` percent of the runs stay at or below, rounded up to two digits. No limit
// is suggested for what no run reached. In the order of the guards and of their options.
std::vector<limit_suggestion> suggest_limits(const std::vector<run_extent>& runs, double percentile, double margin);

}  // namespace digd::stored
