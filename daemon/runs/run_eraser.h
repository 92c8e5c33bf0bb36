// Removes a run from the archive after its registry has forgotten it.
//
// Thread: `erase` on the run's engine thread. Failure: if the daemon stops first, `on_erased` is never called; the
// archive continues the removal after the next start. Lifetime: it and the run's engine thread outlive the
// archive's writer thread.
#pragma once

#include <cstdint>
#include <functional>

#include "daemon/runs/pending_writes.h"

namespace digd::daemon {

class engine_thread;

class run_eraser {
 public:
  // `forget_run` makes the archive's readers forget the run. It is called on the archive's writer thread once nothing
  // of the run is stored.
  run_eraser(pending_writes& deletions, std::function<void(std::uint64_t run_number)> forget_run)
      : deletions_(deletions), forget_run_(std::move(forget_run)) {}

  // Calls `on_erased` on the archive's writer thread once nothing of the run is stored.
  void erase(engine_thread& owner, std::uint64_t run_number, std::function<void()> on_erased);

 private:
  pending_writes& deletions_;
  const std::function<void(std::uint64_t run_number)> forget_run_;
};

}  // namespace digd::daemon
