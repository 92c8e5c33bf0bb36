// Numbers in sentences and tables. Pure functions.
#pragma once

#include <cstdio>
#include <string>

namespace digd::causal {

// With three significant digits.
inline std::string three_digits(double x) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g", x);
  return text;
}

}  // namespace digd::causal
