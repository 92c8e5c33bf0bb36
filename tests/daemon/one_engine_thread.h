// An engine thread, or several, whose loops the test runs itself, with the parts of the daemon that they need.
#pragma once

#include <memory>

#include "daemon/fleet/home_keeper.h"
#include "daemon/runs/engine_threads.h"

namespace digd::daemon {

struct one_engine_thread {
  config settings;
  live_settings live{settings};
  std::unique_ptr<archive::archive> archive;
  ack_router acks;
  overload_state overload;
  std::atomic<mode> operator_mode{mode::enforce};
  run_counts counts;
  std::unique_ptr<home_keeper> homes;  // null: runs have no homes
  boost::asio::thread_pool rebuilder{1}, finder{1};
  engine_threads threads;
  const run_services services{.conditions = {.settings = live,
                                             .overload = overload,
                                             .operator_mode = operator_mode,
                                             .default_clock = settings.policy.defaults.clock},
                              .storage = {.archive = archive, .acks = acks, .rebuilder = rebuilder, .finder = finder},
                              .counts = counts,
                              .homes = homes};

  // `store`: null for a daemon without an archive.
  explicit one_engine_thread(std::unique_ptr<archive::archive> store = nullptr, std::size_t count = 1)
      : archive(std::move(store)) {
    threads.make(count, services);
  }
  ~one_engine_thread() {
    rebuilder.join();
    finder.join();
    archive.reset();
    threads.run_down();
  }
};

}  // namespace digd::daemon
