// One connection between a client and the monitor. Frames arrive in order and with latency. When it breaks, the two
// ends notice at different times. A client that reads slowly is cut off when too many frames wait for it.
//
// Lifetime: shared by both ends and by the frames in transit.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <string>

#include "tests/simulation/scheduler.h"

namespace digd::simulation {

class link : public std::enable_shared_from_this<link> {
 public:
  static constexpr std::size_t max_waiting = 3'000;  // frames in transit to a client

  // The callbacks of one end. Only the scheduler calls them, never a function of the link.
  struct end {
    std::function<void(std::string&&)> frame;
    std::function<void()> closed;
  };

  link(scheduler& clock, dice& chance, microseconds latency, microseconds read_time)
      : clock_(clock), chance_(chance), latency_(latency), read_time_(read_time) {}

  // An end may be replaced while it is being called. It must not own the link.
  void attach_client(end callbacks) { client_ = std::make_shared<const end>(std::move(callbacks)); }
  void attach_monitor(end callbacks) { monitor_ = std::make_shared<const end>(std::move(callbacks)); }

  void to_monitor(std::string frame);
  void to_client(std::string frame);
  // The connection breaks: nothing more arrives, and each end notices after some time.
  void cut();
  // The monitor closes; both ends notice after the latency.
  void close_by_monitor();
  // The monitor's process ends.
  void monitor_dies();

  // The monitor stops or resumes reading.
  void pause_reading(bool on);
  std::size_t unread() const { return unread_.size(); }
  bool is_alive() const { return !dead_; }

 private:
  microseconds arrival(microseconds& last);
  void read_unread();
  void notify_client();
  void notify_monitor();

  scheduler& clock_;
  dice& chance_;
  const microseconds latency_;                   // typical
  const microseconds read_time_;                 // for each frame that the client reads
  std::shared_ptr<const end> client_, monitor_;  // null: gone, or notified of the end
  std::deque<std::string> unread_;
  std::size_t to_client_waiting_ = 0;
  microseconds last_up_ = 0, last_down_ = 0;
  bool dead_ = false;
  bool paused_ = false;
};

}  // namespace digd::simulation
