// How readily the calling thread gets a processor.
#pragma once

#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

namespace digd {

// It stands back where others want a processor: who wakes is not kept waiting by it (SCHED_BATCH), and of a processor
// that is fought for it gets a third of what others do (nice 5, or what the process has if that is more). Needs no
// rights; where the system refuses, all stays as it was.
inline void stand_back() {
  constexpr int nice = 5;
  const sched_param none{};
  static_cast<void>(pthread_setschedparam(pthread_self(), SCHED_BATCH, &none));
  const auto me = static_cast<id_t>(gettid());
  if (getpriority(PRIO_PROCESS, me) < nice) static_cast<void>(setpriority(PRIO_PROCESS, me, nice));
}

}  // namespace digd
