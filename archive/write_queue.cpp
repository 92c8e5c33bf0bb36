#include "archive/write_queue.h"

#include <algorithm>
#include <iterator>
#include <utility>

#if defined(__SANITIZE_THREAD__)
#include <sanitizer/tsan_interface.h>
#endif

namespace digd::archive {

namespace {

constexpr std::size_t take_at_once = 64;  // between looks at the batch's bytes

}  // namespace

write_queue::parcel::parcel(parcel&& other) noexcept {
#if defined(__SANITIZE_THREAD__)
  __tsan_acquire(this);
#endif
  entry_ = std::exchange(other.entry_, nullptr);
}

write_queue::parcel::~parcel() {
  delete entry_;
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

bool write_queue::push(push_token& from, entry_ptr& entry) {
  const auto size = entry->bytes();
  // Counts before it checks `closed_`. The closing thread waits until the count is zero, so no entry is added after
  // that.
  const bool has_room = entries_.fetch_add(1) < bounds_.entries;
  const auto bytes_before = bytes_.fetch_add(size);
  const bool fits = bytes_before == 0 || bytes_before + size <= bounds_.bytes;  // an entry over the bound goes alone
  if (has_room && fits && !is_closed()) {
    parcel packed(std::move(entry));
    if (queue_.try_enqueue(from.token_, std::move(packed))) return true;
    entry = std::move(packed);  // NOLINT(bugprone-use-after-move): a full queue takes nothing
  }
  bytes_.fetch_sub(size);
  entries_.fetch_sub(1);
  return false;
}

bool write_queue::take(batch& into, std::size_t max_entries, std::size_t max_bytes) {
  std::size_t bytes = 0;
  for (const auto& entry : into) bytes += entry->bytes();
  const auto before = into.size();
  while (into.size() < max_entries && bytes < max_bytes) {
    const auto at = into.size();
    if (queue_.try_dequeue_bulk(consumer_, std::back_inserter(into), std::min(take_at_once, max_entries - at)) == 0) {
      break;
    }
    for (auto i = at; i < into.size(); ++i) bytes += into[i]->bytes();
  }
  return into.size() > before;
}

void write_queue::settle(const batch& done) {
  std::size_t bytes = 0;
  for (const auto& entry : done) bytes += entry->bytes();
  bytes_.fetch_sub(bytes);
  entries_.fetch_sub(done.size());
}

}  // namespace digd::archive
