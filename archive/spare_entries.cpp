#include "archive/spare_entries.h"

#include <utility>

namespace digd::archive {

namespace {

std::size_t memory_of(const entry& kept) { return sizeof kept + kept.text_capacity(); }

}  // namespace

entry_ptr spare_entries::take() {
  if (kept_.empty()) return std::make_unique<entry>();
  entry_ptr taken = std::move(kept_.back());
  kept_.pop_back();
  bytes_.store(bytes() - memory_of(*taken), std::memory_order_relaxed);
  return taken;
}

void spare_entries::give_back(std::vector<entry_ptr>& done) {
  for (entry_ptr& entry : done) {
    if (entry->text_capacity() > max_kept_bytes || bytes() + memory_of(*entry) > max_bytes) continue;
    entry->reset();
    bytes_.store(bytes() + memory_of(*entry), std::memory_order_relaxed);
    kept_.push_back(std::move(entry));
  }
  done.clear();
}

}  // namespace digd::archive
