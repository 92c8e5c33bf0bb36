// The chart of docs/performance.md: nanoseconds an event by the length of the run.
#pragma once

#include <string>
#include <string_view>

namespace digd::bench {

// Draws the output of `digd-growth long` as SVG: median and 99 %, each with its fitted curve, both axes logarithmic.
// Throws std::exception for other text, or for fewer than two lengths.
std::string growth_chart(std::string_view measured_json);

}  // namespace digd::bench
