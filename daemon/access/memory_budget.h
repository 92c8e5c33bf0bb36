// Limits the memory that connections make digd hold before it has handled what they sent: buffers, messages and bodies
// that are not whole, and frames that wait for their run or for another session's ids.
//
// Each connection has a charge. Its bytes count for the charge, for its token, for its run, and for all:
//
//   all connections                                      `limit`
//   all connections that are not allowed yet: digd       an eighth
//   has accepted no request or hello of them
//   the connections of one token                         a half
//   the connections of one run                           a quarter
//   one connection                                       a quarter
//
// If a share is exceeded, digd closes the connection that holds most among those that the share counts. For connections
// that are not allowed yet it first selects the peer that holds most. For `limit` it first selects the token that holds
// most or, without tokens, the run, then the peer. The oldest of equal connections is closed.
//
// Threads: any; but `allow` and `on_close` are the connection's own.
// Lifetime: the budget outlives its charges. Bounds: one charge a connection. Failure: none.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "base/log_rate_limit.h"

namespace digd::daemon {

// The bytes that the connections of one token or of one run hold.
struct memory_account {
  explicit memory_account(std::string of) : name(std::move(of)) {}
  const std::string name;
  std::atomic<std::uint64_t> bytes{0};
};
using account_ptr = std::shared_ptr<memory_account>;

class memory_budget;
struct peer;

class memory_charge {
 public:
  // `fixed`: bytes of its own buffers.
  memory_charge(memory_budget& budget, std::shared_ptr<const peer> from, std::uint64_t fixed);
  ~memory_charge();
  memory_charge(const memory_charge&) = delete;
  memory_charge& operator=(const memory_charge&) = delete;

  void add(std::uint64_t bytes);
  void remove(std::uint64_t bytes);
  // As `add` and `remove`, for whole frames that are on their way to their run's thread, or that the run holds.
  void add_waiting(std::uint64_t bytes) {
    waiting_.fetch_add(bytes, std::memory_order_relaxed);
    add(bytes);
  }
  void remove_waiting(std::uint64_t bytes) {
    waiting_.fetch_sub(bytes, std::memory_order_relaxed);
    remove(bytes);
  }
  std::uint64_t waiting() const { return waiting_.load(std::memory_order_relaxed); }
  // Answers that wait to be written. Only `bytes_with_answers` counts them, because they have limits of their own.
  void set_unwritten(std::uint64_t bytes) { unwritten_.store(bytes, std::memory_order_relaxed); }

  // A request or a hello of the connection was accepted. `token`: null where none was needed.
  void allow(account_ptr token);
  void join(account_ptr run);
  // `close` ends the connection. It is called once at most, on any thread, and must not wait.
  void on_close(std::function<void()> close);

  std::uint64_t bytes() const { return bytes_.load(std::memory_order_relaxed); }
  std::uint64_t bytes_with_answers() const { return bytes() + unwritten_.load(std::memory_order_relaxed); }
  std::uint64_t can_free() const { return bytes_with_answers() - std::min(bytes_with_answers(), fixed_); }

 private:
  friend class memory_budget;
  // The token, else the run, else the peer.
  const void* payer() const;

  memory_budget& budget_;
  const std::shared_ptr<const peer> from_;
  const std::uint64_t fixed_;
  std::atomic<std::uint64_t> bytes_{0}, unwritten_{0}, waiting_{0};
  std::atomic<bool> is_allowed_{false};
  // Held while bytes are counted and while an account changes. Otherwise the account could count bytes twice or never.
  std::mutex counting_;
  account_ptr token_, run_;      // change under the budget's mutex and `counting_`
  std::function<void()> close_;  // likewise
  bool is_closing_ = false;      // likewise: digd is closing the connection and no longer counts it
  std::list<memory_charge*>::iterator place_;
};

// The charge for a frame on its way to another thread: adds the frame's bytes, and removes them when it is destroyed.
class charged_frame {
 public:
  charged_frame(std::shared_ptr<memory_charge> charge, std::uint64_t bytes)
      : charge_(std::move(charge)), bytes_(bytes) {
    charge_->add_waiting(bytes_);
  }
  charged_frame(charged_frame&& other) noexcept : charge_(std::move(other.charge_)), bytes_(other.bytes_) {}
  ~charged_frame() {
    if (charge_) charge_->remove_waiting(bytes_);
  }

 private:
  std::shared_ptr<memory_charge> charge_;
  std::uint64_t bytes_;
};

class memory_budget {
 public:
  static constexpr std::uint64_t all_bytes = ~std::uint64_t{0};

  void set_limit(std::uint64_t bytes) { limit_.store(bytes, std::memory_order_relaxed); }
  std::uint64_t limit() const { return limit_.load(std::memory_order_relaxed); }
  std::uint64_t used() const { return used_.load(std::memory_order_relaxed); }
  std::uint64_t closed() const { return closed_.load(std::memory_order_relaxed); }  // connections, since the start

  // ---- for the overload manager
  struct holder {
    std::string token;              // empty: no token was needed, or no request was accepted yet
    std::uint64_t bytes, can_free;  // with its answers; `can_free` leaves out its own buffers
  };
  std::vector<holder> holders() const;
  // Closes the connections of the token that can free at least `least` bytes. Returns how many.
  std::size_t close_heavy(const std::string& token, std::uint64_t least);

 private:
  friend class memory_charge;
  struct sums;

  bool is_exceeded_by(const memory_charge& charge) const;
  void close_over();
  memory_charge* next_to_close() const;
  std::function<void()> mark(memory_charge& charge);

  std::atomic<std::uint64_t> limit_{all_bytes}, used_{0}, not_allowed_{0}, closed_{0};
  mutable std::mutex guard_;
  std::list<memory_charge*> charges_;  // the oldest first
  log_rate_limit log_limit_{1};
};

}  // namespace digd::daemon
