// The scheduling priority of the calling thread.
#pragma once

#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

namespace digd {

// Lowers the priority: a waking thread preempts this one (SCHED_BATCH), and on a busy processor it gets a third of
// another thread's share (nice 5, or the process's value if that is higher). Needs no privileges; if the system
// refuses, nothing changes.
inline void lower_thread_priority() {
  constexpr int nice = 5;
  const sched_param none{};
  static_cast<void>(pthread_setschedparam(pthread_self(), SCHED_BATCH, &none));
  const auto me = static_cast<id_t>(gettid());
  if (getpriority(PRIO_PROCESS, me) < nice) static_cast<void>(setpriority(PRIO_PROCESS, me, nice));
}

}  // namespace digd
