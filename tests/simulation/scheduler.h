// The simulation's clock and its random numbers. A seed determines the order of all tasks.
//
// Threads: none. Nothing here reads a real clock.
#pragma once

#include <cstdint>
#include <functional>
#include <queue>
#include <random>
#include <utility>
#include <vector>

namespace digd::simulation {

using microseconds = std::int64_t;

class scheduler {
 public:
  microseconds now() const { return now_; }
  std::int64_t now_ms() const { return now_ / 1'000; }
  void at(microseconds time, std::function<void()> task) {
    events_.push({std::max(time, now_), ++planned_, std::move(task)});
  }
  void after(microseconds wait, std::function<void()> task) { at(now_ + wait, std::move(task)); }
  // Runs the next task. Returns false if there is none.
  bool step() {
    if (events_.empty()) return false;
    std::function<void()> task = std::move(const_cast<event&>(events_.top()).task);
    now_ = events_.top().time;
    events_.pop();
    task();
    return true;
  }

 private:
  struct event {
    microseconds time;
    std::uint64_t order;  // of two events at the same time the one planned first comes first
    std::function<void()> task;
    bool operator<(const event& other) const { return std::pair(time, order) > std::pair(other.time, other.order); }
  };
  std::priority_queue<event> events_;
  microseconds now_ = 0;
  std::uint64_t planned_ = 0;
};

// Random numbers that do not depend on the library: the distributions of the standard do.
class dice {
 public:
  explicit dice(std::uint64_t seed) : source_(seed) {}
  std::uint64_t below(std::uint64_t n) { return n == 0 ? 0 : source_() % n; }
  std::int64_t between(std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(below(static_cast<std::uint64_t>(high - low) + 1));
  }
  bool one_in(std::uint64_t n) { return below(n) == 0; }
  template <class List>
  auto& pick(List& from) {
    return from[below(from.size())];
  }

 private:
  std::mt19937_64 source_;
};

}  // namespace digd::simulation
