#include "cli/size_text.h"

#include <cstdio>
#include <iterator>

namespace digd::cli {

std::string size_text(std::uint64_t bytes) {
  constexpr const char* units[] = {"B", "kB", "MB", "GB", "TB"};
  double value = static_cast<double>(bytes);
  std::size_t unit = 0;
  for (; value >= 1000 && unit + 1 < std::size(units); ++unit) value /= 1000;
  char out[32];
  std::snprintf(out, sizeof out, unit == 0 ? "%.0f %s" : "%.1f %s", value, units[unit]);
  return out;
}

}  // namespace digd::cli
