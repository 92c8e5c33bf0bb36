// A fixed number of places that clients share. No client gets more than its part of them. A client is a token or,
// without tokens, a peer.
//
// Threads: any. Lifetime: outlives its tickets. Bounds: `max` places; clients without one are forgotten. Failure: null.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "base/ticket.h"

namespace digd::daemon {

class client_slots {
 public:
  client_slots(std::uint64_t max, std::uint64_t max_of_client) : max_(max), max_of_client_(max_of_client) {}

  // A place, for as long as the ticket exists; null: all are taken, or this client has as many as it may have.
  ticket_ptr take(const std::string& client) {
    const std::lock_guard lock(guard_);
    std::erase_if(taken_by_, [](const auto& each) { return each.second.use_count() == 1; });
    count_ptr& own = taken_by_[client];
    if (!own) own = std::make_shared<count>(0);
    if (taken_.load() >= max_ || own->load() >= max_of_client_) return nullptr;
    return std::make_shared<slot>(taken_, own);
  }

 private:
  using count = std::atomic<std::uint64_t>;
  using count_ptr = std::shared_ptr<count>;
  struct slot final : counted_ticket {
    slot(count& taken_slots, count_ptr of_client)
        : counted_ticket(taken_slots), own_(std::move(of_client)), counted_(*own_) {}

   private:
    const count_ptr own_;
    const counted_ticket counted_;
  };

  const std::uint64_t max_, max_of_client_;
  std::mutex guard_;
  count taken_{0};
  std::map<std::string, count_ptr> taken_by_;
};

}  // namespace digd::daemon
