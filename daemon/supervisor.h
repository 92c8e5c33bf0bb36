// The main thread while the daemon runs: waits for signals, and tells the service manager that the engine threads are
// alive, as long as they are.
#pragma once

#include <boost/asio/io_context.hpp>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "daemon/service_manager.h"

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

// Until `supervise` is called: SIGTERM and SIGINT end the process at once and in order, since there is nothing yet that a
// kill could not interrupt as well; SIGHUP waits until then.
void expect_signals();

struct supervised {
  std::function<void()> reload;         // on SIGHUP
  std::function<std::string()> status;  // one line for people
};

// Returns on SIGTERM or SIGINT, having said so; the next of these then does what it does by default: it ends the
// process at once. A loop that does not answer between two pings gets none, and the watchdog fires.
void supervise(service_manager& manager, heartbeat beats, const supervised& what);

}  // namespace digd::daemon
