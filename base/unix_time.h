// The wall clock.
#pragma once

#include <chrono>
#include <cstdint>

namespace digd {

// Milliseconds since the Unix epoch. The clock may be set, so the value can decrease.
inline std::int64_t unix_ms() {
  using namespace std::chrono;
  return duration_cast<std::chrono::milliseconds>(system_clock::now().time_since_epoch()).count();
}

}  // namespace digd
