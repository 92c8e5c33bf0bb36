// Work in the background that lets other threads have its processor between two steps.
//
// A thread that wakes up does not always interrupt one of lower priority: the scheduler may let that one finish its
// time slice first, and a kernel without preemption lets it finish its system call. So the background thread offers its
// processor after every step of some 50 µs. On a processor that is always busy each offer costs a time slice, so the
// thread stops offering after a given time. Thread: any; each has its own time. Failure: none.
#pragma once

#include <sched.h>

#include <chrono>

namespace digd {

class background_steps {
 public:
  using clock = std::chrono::steady_clock;

  // The calling thread offers its processor at each `step` of the next `duration`.
  static void begin(clock::duration duration) { until() = clock::now() + duration; }

  // Between two steps. Does nothing on a thread that has not called `begin`.
  static void step() {
    if (until() != clock::time_point{} && clock::now() < until()) sched_yield();
  }

 private:
  static clock::time_point& until() {
    thread_local clock::time_point at;
    return at;
  }
};

}  // namespace digd
