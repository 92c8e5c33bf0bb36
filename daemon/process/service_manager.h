// What systemd, or anything that speaks its protocols, wants to be told, and hands over: sd_notify(3) over the
// datagram socket in $NOTIFY_SOCKET, the watchdog's interval, and listening sockets (sd_listen_fds(3)). Without any of
// them the daemon runs as well; every call then does nothing.
//
// Our own rather than libsystemd's: the protocols are documented as stable, and 80 lines cost less than a dependency
// that every system without systemd lacks.
//
// Thread: main's. Failure: a message that cannot be sent is lost; a service manager that is gone stops nobody.
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

namespace digd::daemon {

class service_manager {
 public:
  // Takes what it needs from the environment, and the sockets; removes their variables, so that no child believes
  // they are meant for it.
  service_manager();

  // How often it wants to hear that we are alive; zero: not at all.
  std::chrono::microseconds watchdog() const { return watchdog_; }
  // Listening sockets that were opened for us.
  const std::vector<int>& sockets() const { return sockets_; }

  void ready(std::string_view status);
  void reloading();  // `ready` ends it
  void stopping();
  void status(std::string_view words);
  void alive();

 private:
  void tell(const std::string& state);

  std::string socket_;
  std::chrono::microseconds watchdog_{0};
  std::vector<int> sockets_;
};

}  // namespace digd::daemon
