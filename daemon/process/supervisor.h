// The main thread while the daemon runs: waits for signals, and reports to the service manager as long as all engine
// threads respond.
//
// Thread: main's. Lifetime: the loops outlive the `heartbeat`.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "daemon/process/service_manager.h"

namespace digd::daemon {

// Checks that event loops respond. Lifetime: handlers that it posted may run after it is destroyed.
class heartbeat {
 public:
  explicit heartbeat(std::vector<boost::asio::io_context*> loops);

  // Posts a handler to every loop.
  void ask();
  // Whether every loop has run the handler of the last `ask`; true before the first `ask`.
  bool all_answered() const;

 private:
  std::vector<boost::asio::io_context*> loops_;
  std::vector<std::shared_ptr<std::atomic<std::uint64_t>>> answers_;
  std::uint64_t asked_ = 0;
};

struct supervised {
  std::function<void()> reload;         // on SIGHUP
  std::function<std::string()> status;  // one line for people
};

// Call before `caught_signals` exists. SIGTERM and SIGINT then end the process at once, because nothing needs an
// orderly stop yet. SIGHUP waits for `supervise`.
void expect_signals();

// While it exists, SIGTERM, SIGINT and SIGHUP wait for `supervise`. Made before the first connection, so that every
// client learns of a stop. Lifetime: one at a time. Afterwards SIGTERM and SIGINT have their default effect, and
// SIGHUP has none.
class caught_signals {
 public:
  caught_signals();
  ~caught_signals();
  caught_signals(const caught_signals&) = delete;
  caught_signals& operator=(const caught_signals&) = delete;

 private:
  friend void supervise(service_manager&, heartbeat, const supervised&, caught_signals&);

  boost::asio::io_context waits_{1};
  boost::asio::signal_set set_;
};

// Returns on SIGTERM or SIGINT, after it has reported that. If a loop does not respond between two pings, no ping is
// sent, and the service manager's watchdog fires.
void supervise(service_manager& manager, heartbeat beats, const supervised& supervised, caught_signals& signals);

}  // namespace digd::daemon
