#include "tests/simulation/link.h"

#include <algorithm>
#include <utility>

namespace digd::simulation {

microseconds link::arrival(microseconds& last) {
  microseconds latency = chance_.between(latency_ / 2, latency_);
  if (chance_.one_in(200)) latency += chance_.between(0, 100 * latency_);
  last = std::max(last, clock_.now() + latency);
  return last;
}

void link::to_monitor(std::string frame) {
  if (dead_) return;
  clock_.at(arrival(last_up_), [self = shared_from_this(), frame = std::move(frame)]() mutable {
    if (self->dead_) return;
    self->unread_.push_back(std::move(frame));
    self->read_unread();
  });
}

void link::read_unread() {
  while (!paused_ && !dead_ && !unread_.empty()) {
    std::string frame = std::move(unread_.front());
    unread_.pop_front();
    if (const auto end = monitor_) end->frame(std::move(frame));
  }
}

void link::pause_reading(bool on) {
  if (std::exchange(paused_, on) && !on) {
    clock_.after(0, [self = shared_from_this()] { self->read_unread(); });
  }
}

void link::to_client(std::string frame) {
  if (dead_) return;
  if (++to_client_waiting_ > max_waiting) return close_by_monitor();
  last_down_ = std::max(last_down_, clock_.now()) + read_time_;
  clock_.at(arrival(last_down_), [self = shared_from_this(), frame = std::move(frame)]() mutable {
    --self->to_client_waiting_;
    if (const auto end = self->client_; end && !self->dead_) end->frame(std::move(frame));
  });
}

void link::notify_client() {
  if (const auto end = std::exchange(client_, nullptr)) end->closed();
}
void link::notify_monitor() {
  if (const auto end = std::exchange(monitor_, nullptr)) end->closed();
}

void link::cut() {
  if (std::exchange(dead_, true)) return;
  clock_.after(chance_.between(0, 300'000), [self = shared_from_this()] { self->notify_client(); });
  clock_.after(chance_.between(0, 3'000'000), [self = shared_from_this()] { self->notify_monitor(); });
}

void link::close_by_monitor() {
  if (std::exchange(dead_, true)) return;
  clock_.after(latency_, [self = shared_from_this()] {
    self->notify_client();
    self->notify_monitor();
  });
}

void link::monitor_dies() {
  monitor_ = nullptr;
  if (std::exchange(dead_, true)) return;
  clock_.after(chance_.between(0, 50'000), [self = shared_from_this()] { self->notify_client(); });
}

}  // namespace digd::simulation
