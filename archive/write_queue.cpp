#include "archive/write_queue.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/background_steps.h"

#if defined(__SANITIZE_THREAD__)
#include <sanitizer/tsan_interface.h>
#endif

namespace digd::archive {

namespace {

constexpr std::size_t max_taken_parcels = 16;  // parcels, between looks at the batch's size

}  // namespace

write_queue::slot::slot(slot&& other) noexcept {
#if defined(__SANITIZE_THREAD__)
  __tsan_acquire(this);
#endif
  parcel_ = std::exchange(other.parcel_, nullptr);
}

write_queue::slot::~slot() {
  delete parcel_;
#if defined(__SANITIZE_THREAD__)
  __tsan_release(this);
#endif
}

// A producer keeps the blocks that it has used. So each producer gets enough blocks for the whole bound; otherwise one
// busy producer could leave none for the others.
write_queue::write_queue(const bounds& limits)
    : bounds_{std::clamp<std::size_t>(limits.entries, 1, max_queue_entries), limits.bytes, limits.producers},
      queue_((bounds_.entries / traits::BLOCK_SIZE + 2) * traits::BLOCK_SIZE *
             std::max<std::size_t>(limits.producers, 1)),
      consumer_(queue_) {}

std::unique_ptr<write_queue::push_token> write_queue::make_token() {
  if (producers_.fetch_add(1) >= bounds_.producers) {
    producers_.fetch_sub(1);
    return nullptr;
  }
  return std::make_unique<push_token>(*this);
}

parcel_ptr write_queue::make_parcel(push_token& of) {
  if (of.spare_.empty()) pool_.take(of.spare_);
  if (of.spare_.empty()) return std::make_unique<parcel>();
  parcel_ptr made = std::move(of.spare_.back());
  of.spare_.pop_back();
  return made;
}

bool write_queue::push(push_token& from, parcel_ptr& parcel) {
  const std::size_t entries = parcel->entries(), bytes = parcel->bytes();
  // Counts before it checks `closed_`. The closing thread waits until the count is zero, so no entry is added after
  // that.
  const auto entries_before = entries_.fetch_add(entries);
  const auto bytes_before = bytes_.fetch_add(bytes);
  // A parcel above a bound must wait for an empty queue.
  const bool has_room = entries_before == 0 || entries_before + entries <= bounds_.entries;
  const bool fits = bytes_before == 0 || bytes_before + bytes <= bounds_.bytes;
  if (has_room && fits && !is_closed()) {
    slot packed(std::move(parcel));
    if (queue_.try_enqueue(from.token_, std::move(packed))) return true;
    parcel = std::move(packed);  // NOLINT(bugprone-use-after-move): a full queue takes nothing
  }
  bytes_.fetch_sub(bytes);
  entries_.fetch_sub(entries);
  return false;
}

bool write_queue::take(batch& into, std::size_t max_entries, std::size_t max_bytes, spare_entries& spare) {
  std::size_t bytes = 0;
  for (const auto& entry : into) bytes += entry->bytes();
  const auto before = into.size();
  std::size_t unpacked = 0;
  while (into.size() < max_entries && bytes < max_bytes) {
    const std::size_t wanted = std::min(max_taken_parcels, max_entries - into.size());
    if (queue_.try_dequeue_bulk(consumer_, std::back_inserter(taken_), wanted) == 0) break;
    for (; unpacked < taken_.size(); ++unpacked) {
      bytes += taken_[unpacked]->bytes();
      taken_[unpacked]->unpack(into, spare);
    }
    background_steps::step();
  }
  pool_.give_back(taken_);
  return into.size() > before;
}

void write_queue::settle(const batch& done) {
  std::size_t bytes = 0;
  for (const auto& entry : done) bytes += entry->bytes();
  bytes_.fetch_sub(bytes);
  entries_.fetch_sub(done.size());
}

}  // namespace digd::archive
