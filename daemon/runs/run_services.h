// The parts of the daemon that engine threads share. The server owns them, and they outlive the engine threads.
#pragma once

#include <atomic>
#include <boost/asio/thread_pool.hpp>
#include <cstdint>
#include <memory>
#include <string>

#include "archive/archive.h"
#include "daemon/runs/ack_router.h"
#include "daemon/runs/overload_state.h"
#include "daemon/settings/live_settings.h"
#include "model/settings.h"

namespace digd::daemon {

class home_keeper;

// The open runs that digd found in the archive when it started, and how many of them it has read back.
struct recovery_progress {
  std::atomic<std::uint64_t> found{0}, done{0}, failed{0};  // failed: those of `done` that cannot be read
  std::atomic<bool> stopping{false};                        // digd stops: reading back ends before the next entry

  bool is_over() const { return done.load() >= found.load(); }
};
inline std::string words_of(const recovery_progress& progress) {
  return std::to_string(progress.done.load()) + " of " + std::to_string(progress.found.load()) + " runs";
}

struct run_counts {
  std::atomic<std::uint64_t> open{0};        // includes those that are still being recovered
  std::atomic<std::uint64_t> unarchived{0};  // run numbers given out without an archive
  recovery_progress recovery;
};

// Under which conditions runs are opened and judged. All but the clock may change while digd runs.
struct run_conditions {
  const live_settings& settings;
  const overload_state& overload;
  const std::atomic<mode>& operator_mode;
  clock_kind default_clock;  // as configured when the daemon started
};

// Where runs are stored, and the threads that read them there.
struct run_storage {
  const std::unique_ptr<archive::archive>& archive;  // null: no archive
  ack_router& acks;
  boost::asio::thread_pool& rebuilder;  // reads runs back: one more thread than engine threads
  boost::asio::thread_pool& finder;     // finds runs in the archive by their names: one thread
};

struct run_services {
  run_conditions conditions;
  run_storage storage;
  run_counts& counts;
  const std::unique_ptr<home_keeper>& homes;  // null: runs have no homes

  std::uint64_t next_run_number() const {
    return storage.archive ? storage.archive->next_run_number() : counts.unarchived.fetch_add(1) + 1;
  }
};

}  // namespace digd::daemon
