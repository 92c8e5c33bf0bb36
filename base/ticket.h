// Counts objects whose number is limited, such as connections. Each object holds a ticket for as long as it counts.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

namespace digd {

// Any thread. `count` must outlive the ticket.
class counted_ticket {
 public:
  explicit counted_ticket(std::atomic<std::uint64_t>& count) : count_(count) { count_.fetch_add(1); }
  ~counted_ticket() { count_.fetch_sub(1); }
  counted_ticket(const counted_ticket&) = delete;
  counted_ticket& operator=(const counted_ticket&) = delete;

 private:
  std::atomic<std::uint64_t>& count_;
};

using ticket_ptr = std::shared_ptr<counted_ticket>;

}  // namespace digd
