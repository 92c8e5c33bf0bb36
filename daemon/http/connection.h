// What the daemon knows of every connection, whatever it speaks: that it is open, and how to end it.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

namespace digd::daemon {

class connection {
 public:
  virtual ~connection() = default;
  virtual void shut_down() = 0;  // the daemon stops: flush, say goodbye
  virtual void abort() = 0;      // it took too long
};

// Counts one connection for as long as it exists. Any thread.
class ticket_counter {
 public:
  explicit ticket_counter(std::atomic<std::uint64_t>& open) : open_(open) { open_.fetch_add(1); }
  ~ticket_counter() { open_.fetch_sub(1); }
  ticket_counter(const ticket_counter&) = delete;
  ticket_counter& operator=(const ticket_counter&) = delete;

 private:
  std::atomic<std::uint64_t>& open_;
};
using connection_ticket = std::shared_ptr<ticket_counter>;

}  // namespace digd::daemon
