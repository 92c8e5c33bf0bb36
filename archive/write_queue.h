// The bounded queue from the engine threads to the writer. It is lock-free, allocates once and keeps the order of each
// producer.
//
// Thread: any thread pushes, with a token of its own; only the writer takes. Bounds: entries and bytes count from
// `push` until `settle`, so the batch that is being written counts too.
#pragma once

#include <concurrentqueue/concurrentqueue.h>
#include <atomic>
#include <cstddef>
#include <memory>
#include <utility>

#include "archive/store.h"

namespace digd::archive {

class write_queue {
 public:
  struct bounds {
    std::size_t entries = 0;
    std::size_t bytes = 0;
    std::size_t producers = 0;
  };
  static constexpr std::size_t max_queue_entries = 1'000'000;

 private:
  // An entry in a slot of the queue. The queue reuses a slot behind a fence, which the thread sanitizer does not see;
  // under that sanitizer the parcel annotates the order itself.
  class parcel {
   public:
    explicit parcel(entry_ptr entry) : entry_(entry.release()) {}
    parcel(parcel&& other) noexcept;
    parcel& operator=(parcel&&) = delete;
    ~parcel();
    operator entry_ptr() && noexcept { return entry_ptr(std::exchange(entry_, nullptr)); }

   private:
    entry* entry_;
  };
  struct traits : moodycamel::ConcurrentQueueDefaultTraits {
    static constexpr std::size_t BLOCK_SIZE = 256;
    // try_enqueue fails if the index is full, so it has room for the largest bound from the start.
    static constexpr std::size_t EXPLICIT_INITIAL_INDEX_SIZE = 4096;
    static constexpr std::size_t INITIAL_IMPLICIT_PRODUCER_HASH_SIZE = 0;  // producers always use tokens
  };
  static_assert(max_queue_entries <= (traits::EXPLICIT_INITIAL_INDEX_SIZE - 2) * traits::BLOCK_SIZE);
  using queue = moodycamel::ConcurrentQueue<parcel, traits>;

 public:
  explicit write_queue(const bounds& limits);

  // The right of one producer to push; its destructor gives it back.
  class push_token {
   public:
    explicit push_token(write_queue& of) : of_(of), token_(of.queue_) {}
    ~push_token() { of_.producers_.fetch_sub(1); }
    push_token(const push_token&) = delete;
    push_token& operator=(const push_token&) = delete;

   private:
    friend class write_queue;
    write_queue& of_;
    moodycamel::ProducerToken token_;
  };
  std::unique_ptr<push_token> make_token();  // null if `bounds::producers` exist already

  // Takes the entry. False, with `entry` untouched: a bound is reached, or the queue is closed.
  bool push(push_token& from, entry_ptr& entry);

  // For the writer thread only: appends entries to `into` until it has `max_entries` or about `max_bytes`. False: there
  // were none.
  bool take(batch& into, std::size_t max_entries, std::size_t max_bytes);
  void settle(const batch& done);                              // these entries no longer count against the bounds
  void shrunk(std::size_t bytes) { bytes_.fetch_sub(bytes); }  // an entry that was taken got smaller

  void close() { closed_.store(true); }
  bool is_closed() const { return closed_.load(); }
  std::size_t held() const { return entries_.load(); }

 private:
  const bounds bounds_;
  std::atomic<std::size_t> entries_{0}, bytes_{0}, producers_{0};
  std::atomic<bool> closed_{false};
  queue queue_;
  moodycamel::ConsumerToken consumer_;
};

}  // namespace digd::archive
