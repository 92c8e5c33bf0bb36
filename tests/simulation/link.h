// One connection between a client and the monitor: frames arrive in order, late; it breaks, and the two ends notice at
// different times; a client that reads slowly is cut off when too much waits for it.
//
// Lifetime: shared by both ends and by the frames under way.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <string>

#include "tests/simulation/scheduler.h"

namespace digd::simulation {

class link : public std::enable_shared_from_this<link> {
 public:
  static constexpr std::size_t most_waiting = 3'000;  // frames on their way to a client

  // An end of it. Called from the scheduler alone, never from within a call to the link.
  struct end {
    std::function<void(std::string&&)> frame;
    std::function<void()> closed;
  };

  link(scheduler& clock, dice& chance, microseconds latency, microseconds reading)
      : clock_(clock), chance_(chance), latency_(latency), reading_(reading) {}

  // An end may be replaced while it is being called. It must not hold the link itself.
  void attach_client(end to) { client_ = std::make_shared<const end>(std::move(to)); }
  void attach_monitor(end to) { monitor_ = std::make_shared<const end>(std::move(to)); }

  void to_monitor(std::string frame);
  void to_client(std::string frame);
  // The line goes dead: nothing more arrives; each end hears of it some time.
  void cut();
  // An end closes it; the other hears of it after what was sent before.
  void close_by_client();
  void close_by_monitor();
  // The monitor's process is gone.
  void monitor_dies();

  // The monitor reads no further until it says so.
  void pause_reading(bool on);
  std::size_t unread() const { return unread_.size(); }
  bool is_alive() const { return !dead_; }

 private:
  microseconds arrival(microseconds& last);
  void read_on();
  void tell_client();
  void tell_monitor();

  scheduler& clock_;
  dice& chance_;
  const microseconds latency_;                   // typical
  const microseconds reading_;                   // what a frame costs the client
  std::shared_ptr<const end> client_, monitor_;  // null: gone, or told of the end
  std::deque<std::string> unread_;
  std::size_t to_client_waiting_ = 0;
  microseconds last_up_ = 0, last_down_ = 0;
  bool dead_ = false;
  bool paused_ = false;
};

}  // namespace digd::simulation
