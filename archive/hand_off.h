// The bounded queue between the engine threads and the writer: lock-free, allocated once, order kept per
// producer.
//
// What counts against the bounds is everything accepted and not yet settled, so also the batch being written.
#pragma once

#include <concurrentqueue/concurrentqueue.h>
#include <atomic>
#include <cstddef>
#include <memory>
#include <utility>

#include "archive/store.h"

namespace digd::archive {

class hand_off {
 public:
  struct bounds {
    std::size_t entries = 0;
    std::size_t bytes = 0;
    std::size_t producers = 0;
  };
  static constexpr std::size_t entries_limit = 1'000'000;

 private:
  // An entry in a slot of the queue. A slot is used again behind a fence, which the thread sanitizer does not
  // see: there the parcel says so itself.
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
    // An index that is full makes try_enqueue fail, so it has room for the largest bound from the start.
    static constexpr std::size_t EXPLICIT_INITIAL_INDEX_SIZE = 4096;
    static constexpr std::size_t INITIAL_IMPLICIT_PRODUCER_HASH_SIZE = 0;  // tokens only
  };
  static_assert(entries_limit <= (traits::EXPLICIT_INITIAL_INDEX_SIZE - 2) * traits::BLOCK_SIZE);
  using queue = moodycamel::ConcurrentQueue<parcel, traits>;

 public:
  explicit hand_off(const bounds& most);

  // A place for one producer, or null if `bounds::producers` have one. Destroyed, it frees the place.
  class place {
   public:
    explicit place(hand_off& of) : of_(of), token_(of.queue_) {}
    ~place() { of_.producers_.fetch_sub(1); }
    place(const place&) = delete;
    place& operator=(const place&) = delete;

   private:
    friend class hand_off;
    hand_off& of_;
    moodycamel::ProducerToken token_;
  };
  std::unique_ptr<place> make_place();

  // Takes `what`; false, with `what` untouched: a bound is reached, or it is closed.
  bool push(place& from, entry_ptr& entry);

  // For the writer thread alone: moves entries to the end of `into` until it has `most_entries` or about
  // `most_bytes`. False if there were none.
  bool take(batch& into, std::size_t most_entries, std::size_t most_bytes);
  void settle(const batch& done);

  void close() { closed_.store(true); }
  bool is_closed() const { return closed_.load(); }
  std::size_t held() const { return entries_.load(); }

 private:
  const bounds most_;
  std::atomic<std::size_t> entries_{0}, bytes_{0}, producers_{0};
  std::atomic<bool> closed_{false};
  queue queue_;
  moodycamel::ConsumerToken consumer_;
};

}  // namespace digd::archive
