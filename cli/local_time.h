// Times for people, in the zone of the machine that runs digctl.
#pragma once

#include <cstdint>
#include <string>

namespace digd::cli {

// `format` as of strftime, at most 31 characters of result; "-" if the time is out of range.
std::string local_time(std::int64_t unix_ms, const char* format);

}  // namespace digd::cli
