// The main thread while the daemon runs: waits for signals, and tells the service manager that the engine threads are
// alive, as long as they are.
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

// Asks loops for a sign of life. Lifetime: what it posted may outlive it.
class heartbeat {
 public:
  explicit heartbeat(std::vector<boost::asio::io_context*> loops);

  // Posts a question to every loop.
  void ask();
  // Whether every loop has answered the last question; true before the first.
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

// Until `caught_signals` are: SIGTERM and SIGINT end the process at once and in order, since there is nothing yet that
// a kill could not interrupt as well; SIGHUP waits until `supervise`.
void expect_signals();

// From when it is made SIGTERM, SIGINT and SIGHUP wait for `supervise`: made before anybody is served, so that whoever
// was is told goodbye. Lifetime: at most one at a time; when it ends, SIGTERM and SIGINT do what they do by default,
// SIGHUP nothing.
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

// Returns on SIGTERM or SIGINT, having said so. A loop that does not answer between two pings gets none, and the
// watchdog fires.
void supervise(service_manager& manager, heartbeat beats, const supervised& supervised, caught_signals& signals);

}  // namespace digd::daemon
