#include "report/time_bins.h"

#include <algorithm>

namespace digd::report {

std::size_t time_bins::of(milliseconds ts) const {
  return ts <= start ? 0 : std::min(max_bins - 1, static_cast<std::size_t>((ts - start) / width));
}

int time_bins::doublings_for(milliseconds ts) const {
  int times = 0;
  while (ts > start && (ts - start) / (width << times) >= static_cast<milliseconds>(max_bins)) ++times;
  return times;
}

void halve(std::vector<std::uint32_t>& bins, int times) {
  for (; times > 0; --times) {
    for (std::size_t i = 0; i < bins.size(); ++i) {
      const std::size_t at = 2 * i;
      bins[i] = (at < bins.size() ? bins[at] : 0) + (at + 1 < bins.size() ? bins[at + 1] : 0);
    }
  }
}

}  // namespace digd::report
