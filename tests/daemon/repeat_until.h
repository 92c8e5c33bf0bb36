// Waits in a test for what other threads do.
#pragma once

#include <catch2/catch.hpp>
#include <chrono>

namespace digd::daemon {

// Repeats `step` until `is_done`. The test fails after 30 s.
template <class IsDone, class Step>
void repeat_until(IsDone is_done, Step step) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (!is_done() && std::chrono::steady_clock::now() < deadline) step();
  REQUIRE(is_done());
}

}  // namespace digd::daemon
