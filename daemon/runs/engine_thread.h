// One of the daemon's engine threads: an event loop that owns its runs forever, and sockets while they are open.
//
// Thread: its own, except for construction and what engine_loop.h says. Lifetime: outlives all sockets, runs and posted
// work; `engine_threads` owns it.
#pragma once

#include <cstddef>
#include <span>

#include "archive/options.h"
#include "daemon/runs/engine_loop.h"
#include "daemon/runs/registry.h"
#include "daemon/runs/run_services.h"

namespace digd::daemon {

class engine_thread final : public engine_loop {
 public:
  engine_thread(std::size_t index, const run_services& services);

  registry& runs() { return runs_; }

  // Takes what one commit of the archive made durable for this thread's runs.
  void durable(std::span<const archive::durable> progress);
  // Takes what the fleet's stream has stored of this thread's runs.
  void streamed(std::span<const archive::durable> progress);

 private:
  registry runs_;
};

}  // namespace digd::daemon
