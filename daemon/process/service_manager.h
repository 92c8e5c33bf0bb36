// The protocols of systemd: sd_notify(3) over the datagram socket in $NOTIFY_SOCKET, the watchdog's interval, and
// listening sockets (sd_listen_fds(3)). Without a service manager every call does nothing.
//
// Written here instead of using libsystemd: the protocols are documented as stable, the code is short, and systems
// without systemd lack the library.
//
// Thread: main's. Failure: a message that cannot be sent is lost.
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

namespace digd::daemon {

class service_manager {
 public:
  // Reads the environment and takes the sockets. Removes the variables, so that no child process uses them.
  service_manager();

  // The service manager expects `alive` within each such interval; zero: never.
  std::chrono::microseconds watchdog() const { return watchdog_; }
  // The listening sockets that the service manager opened.
  const std::vector<int>& sockets() const { return sockets_; }

  void ready(std::string_view status);
  void reloading();  // until `ready`
  void stopping();
  void status(std::string_view words);
  void alive();

 private:
  void notify(const std::string& state);

  std::string socket_;
  std::chrono::microseconds watchdog_{0};
  std::vector<int> sockets_;
};

}  // namespace digd::daemon
