// Lets background work yield its processor to other threads between two steps.
//
// A thread that wakes up does not always interrupt a thread of lower priority. The scheduler may let the running thread
// finish its time slice, and a kernel without preemption lets it finish its system call. So the background thread
// yields after every step of some 50 µs. On a processor that is always busy, each yield costs a time slice, so the
// thread yields only for a given time. Thread: any; each thread has its own time. Failure: none.
#pragma once

#include <sched.h>

#include <chrono>

namespace digd {

class background_steps {
 public:
  using clock = std::chrono::steady_clock;

  // Each `step` in the next `duration` yields the calling thread's processor.
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
