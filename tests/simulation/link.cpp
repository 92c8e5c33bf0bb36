#include "tests/simulation/link.h"

#include <algorithm>
#include <utility>

namespace digd::simulation {

microseconds link::arrival(microseconds& last) {
  microseconds takes = chance_.between(latency_ / 2, latency_);
  if (chance_.one_in(200)) takes += chance_.between(0, 100 * latency_);
  last = std::max(last, clock_.now() + takes);
  return last;
}

void link::to_monitor(std::string frame) {
  if (dead_) return;
  clock_.at(arrival(last_up_), [self = shared_from_this(), frame = std::move(frame)]() mutable {
    if (self->dead_) return;
    self->unread_.push_back(std::move(frame));
    self->read_on();
  });
}

void link::read_on() {
  while (!paused_ && !dead_ && !unread_.empty()) {
    std::string frame = std::move(unread_.front());
    unread_.pop_front();
    if (const auto to = monitor_) to->frame(std::move(frame));
  }
}

void link::pause_reading(bool on) {
  if (std::exchange(paused_, on) && !on) {
    clock_.after(0, [self = shared_from_this()] { self->read_on(); });
  }
}

void link::to_client(std::string frame) {
  if (dead_) return;
  if (++to_client_waiting_ > most_waiting) return close_by_monitor();
  last_down_ = std::max(last_down_, clock_.now()) + reading_;
  clock_.at(arrival(last_down_), [self = shared_from_this(), frame = std::move(frame)]() mutable {
    --self->to_client_waiting_;
    if (const auto to = self->client_; to && !self->dead_) to->frame(std::move(frame));
  });
}

void link::tell_client() {
  if (const auto to = std::exchange(client_, nullptr)) to->closed();
}
void link::tell_monitor() {
  if (const auto to = std::exchange(monitor_, nullptr)) to->closed();
}

void link::cut() {
  if (std::exchange(dead_, true)) return;
  clock_.after(chance_.between(0, 300'000), [self = shared_from_this()] { self->tell_client(); });
  clock_.after(chance_.between(0, 3'000'000), [self = shared_from_this()] { self->tell_monitor(); });
}

void link::close_by_client() {
  if (std::exchange(dead_, true)) return;
  client_ = nullptr;
  clock_.after(latency_, [self = shared_from_this()] { self->tell_monitor(); });
}

void link::close_by_monitor() {
  if (std::exchange(dead_, true)) return;
  clock_.after(latency_, [self = shared_from_this()] {
    self->tell_client();
    self->tell_monitor();
  });
}

void link::monitor_dies() {
  monitor_ = nullptr;
  if (std::exchange(dead_, true)) return;
  clock_.after(chance_.between(0, 50'000), [self = shared_from_this()] { self->tell_client(); });
}

}  // namespace digd::simulation
