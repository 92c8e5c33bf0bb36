#include "daemon/runs/forward_clock.h"

#include <spdlog/spdlog.h>

namespace digd::daemon {

milliseconds forward_clock::now() {
  using namespace std::chrono;
  milliseconds set_back_ms = 0;
  const auto steady = duration_cast<std::chrono::milliseconds>(steady_clock::now().time_since_epoch()).count();
  if (has_read_at(steady)) return steady + highest_;
  const milliseconds result = at(unix_ms(), steady, set_back_ms);
  if (set_back_ms > 0) {
    spdlog::warn(
        "clock_set_back by_ms={} hint=\"stamps continue from before; they agree with the clock after a restart\"",
        set_back_ms);
  }
  return result;
}

}  // namespace digd::daemon
