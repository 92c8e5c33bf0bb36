#include "cli/local_time.h"

#include <ctime>

namespace digd::cli {

std::string local_time(std::int64_t unix_ms, const char* format) {
  const std::time_t seconds = unix_ms / 1000;
  std::tm parts{};
  if (localtime_r(&seconds, &parts) == nullptr) return "-";
  char out[32];
  return {out, std::strftime(out, sizeof out, format, &parts)};
}

}  // namespace digd::cli
