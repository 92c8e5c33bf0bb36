// The engine threads of the daemon. A run stays on the thread that the hash of its id selects.
//
// Threads: made before any of them runs; constant from then on, so that any thread may read it. Lifetime: `run_down`
// before the threads are destroyed. Bounds: the option `threads`.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "daemon/runs/engine_thread.h"

namespace digd::daemon {

class engine_threads {
 public:
  // Call once.
  void make(std::size_t count, const run_services& services);

  engine_thread& owner_of(std::string_view run) const;
  std::size_t size() const { return threads_.size(); }
  engine_thread& operator[](std::size_t i) const { return *threads_[i]; }
  engine_thread& front() const { return *threads_.front(); }
  auto begin() const { return threads_.begin(); }
  auto end() const { return threads_.end(); }

  // Runs the handlers that are still queued, after the threads have ended: a handler of one loop may own what lives
  // on another, so no loop may be destroyed before all are empty.
  void run_down();

 private:
  std::vector<std::unique_ptr<engine_thread>> threads_;
};

}  // namespace digd::daemon
