// The parts of the daemon that engine threads share. The server owns them, and they outlive the engine threads.
#pragma once

#include <atomic>
#include <boost/asio/thread_pool.hpp>
#include <cstdint>
#include <memory>

#include "archive/archive.h"
#include "daemon/runs/ack_router.h"
#include "daemon/runs/overload_state.h"
#include "daemon/settings/live_settings.h"
#include "model/settings.h"

namespace digd::daemon {

class engine_threads;

struct run_counts {
  std::atomic<std::uint64_t> open{0};
  std::atomic<std::uint64_t> unarchived{0};  // run numbers given out without an archive
};

struct run_services {
  const live_settings& settings;
  clock_kind default_clock;                          // as configured when the daemon started
  const std::unique_ptr<archive::archive>& archive;  // null: no archive
  ack_router& acks;
  const overload_state& overload;
  const std::atomic<mode>& operator_mode;
  run_counts& counts;
  const engine_threads& threads;
  boost::asio::thread_pool& rebuilder;  // reads ended runs back

  std::uint64_t next_run_number() const {
    return archive ? archive->next_run_number() : counts.unarchived.fetch_add(1) + 1;
  }
};

}  // namespace digd::daemon
