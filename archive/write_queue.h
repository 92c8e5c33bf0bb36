// The bounded queue from the engine threads to the writer. It is lock-free, allocates once and keeps the order of each
// producer. Parcels that the writer has unpacked go back to the producers.
//
// Thread: any thread pushes, with a token of its own; only the writer takes. Bounds: entries and bytes count from
// `push` until `settle`, so the batch that is being written counts too. Spare parcels: `parcel_pool` has a bound, and
// each token keeps up to `parcel_pool::max_parcels_at_once`. Lifetime: the queue outlives its tokens.
#pragma once

#include <concurrentqueue/concurrentqueue.h>
#include <atomic>
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "archive/parcel.h"
#include "archive/parcel_pool.h"
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
  // A parcel in a slot of the queue. The queue reuses a slot behind a fence, which the thread sanitizer does not see;
  // under that sanitizer the slot annotates the order itself.
  class slot {
   public:
    explicit slot(parcel_ptr parcel) : parcel_(parcel.release()) {}
    slot(slot&& other) noexcept;
    slot& operator=(slot&&) = delete;
    ~slot();
    operator parcel_ptr() && noexcept { return parcel_ptr(std::exchange(parcel_, nullptr)); }

   private:
    parcel* parcel_;
  };
  struct traits : moodycamel::ConcurrentQueueDefaultTraits {
    static constexpr std::size_t BLOCK_SIZE = 256;
    // try_enqueue fails if the index is full, so it has room for the largest bound from the start.
    static constexpr std::size_t EXPLICIT_INITIAL_INDEX_SIZE = 4096;
    static constexpr std::size_t INITIAL_IMPLICIT_PRODUCER_HASH_SIZE = 0;  // producers always use tokens
  };
  static_assert(max_queue_entries <= (traits::EXPLICIT_INITIAL_INDEX_SIZE - 2) * traits::BLOCK_SIZE);
  using queue = moodycamel::ConcurrentQueue<slot, traits>;

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
    std::vector<parcel_ptr> spare_;  // from the pool
  };
  std::unique_ptr<push_token> make_token();  // null if `bounds::producers` exist already

  parcel_ptr make_parcel(push_token& of);  // empty
  void keep_spare(push_token& of, parcel_ptr empty) { of.spare_.push_back(std::move(empty)); }
  // Takes the parcel. False, with `parcel` untouched: a bound is reached, or the queue is closed.
  bool push(push_token& from, parcel_ptr& parcel);

  // For the writer thread only: appends entries to `into` until it has about `max_entries` or `max_bytes`; those of a
  // parcel stay together. False: there were none.
  bool take(batch& into, std::size_t max_entries, std::size_t max_bytes, spare_entries& spare);
  void settle(const batch& done);                              // these entries no longer count against the bounds
  void shrunk(std::size_t bytes) { bytes_.fetch_sub(bytes); }  // an entry that was taken got smaller

  void close() { closed_.store(true); }
  bool is_closed() const { return closed_.load(); }
  std::size_t held() const { return entries_.load(); }
  std::size_t spare_bytes() const { return pool_.bytes(); }  // of parcels

 private:
  const bounds bounds_;
  std::atomic<std::size_t> entries_{0}, bytes_{0}, producers_{0};
  std::atomic<bool> closed_{false};
  parcel_pool pool_;
  queue queue_;
  moodycamel::ConsumerToken consumer_;
  std::vector<parcel_ptr> taken_;
};

}  // namespace digd::archive
