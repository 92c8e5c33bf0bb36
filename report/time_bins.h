// Counts over time in equal bins. The width of the bins doubles as time passes, so their number is constant.
//
// Plain data and functions without state. Bounds: `max_bins`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "model/message.h"

namespace digd::report {

// No time is earlier than `start`.
struct time_bins {
  milliseconds start = 0, width = 1;  // ms
  std::size_t max_bins = 120;

  // The bin of `ts`. First double the width as `doublings_for` says.
  std::size_t of(milliseconds ts) const;
  // How often the width must double for `ts`.
  int doublings_for(milliseconds ts) const;
};

// Merges neighbouring bins, `times` times.
void halve(std::vector<std::uint32_t>& bins, int times);

}  // namespace digd::report
