// The simulation's clock: what happens when, in one order for one seed. And its dice.
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
  void at(microseconds when, std::function<void()> task) {
    events_.push({std::max(when, now_), ++made_, std::move(task)});
  }
  void after(microseconds wait, std::function<void()> task) { at(now_ + wait, std::move(task)); }
  // Does the next thing; false: there is none.
  bool step() {
    if (events_.empty()) return false;
    std::function<void()> task = std::move(const_cast<event&>(events_.top()).task);
    now_ = events_.top().when;
    events_.pop();
    task();
    return true;
  }

 private:
  struct event {
    microseconds when;
    std::uint64_t order;  // of two at the same time, that which was planned first
    std::function<void()> task;
    bool operator<(const event& other) const { return std::pair(when, order) > std::pair(other.when, other.order); }
  };
  std::priority_queue<event> events_;
  microseconds now_ = 0;
  std::uint64_t made_ = 0;
};

// The standard's distributions differ between libraries; these do not.
class dice {
 public:
  explicit dice(std::uint64_t seed) : source_(seed) {}
  std::uint64_t below(std::uint64_t n) { return n == 0 ? 0 : source_() % n; }
  std::int64_t between(std::int64_t least, std::int64_t most) {
    return least + static_cast<std::int64_t>(below(static_cast<std::uint64_t>(most - least) + 1));
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
