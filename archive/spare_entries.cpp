#include "archive/spare_entries.h"

#include <utility>

#include "base/background_steps.h"

namespace digd::archive {

namespace {

constexpr std::size_t entries_between_steps = 64;

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
  for (std::size_t i = 0; i < done.size(); ++i) {
    entry_ptr& entry = done[i];
    if (i % entries_between_steps == 0) background_steps::step();
    if (entry->text_capacity() > max_kept_bytes || bytes() + memory_of(*entry) > max_bytes) continue;
    entry->reset();
    bytes_.store(bytes() + memory_of(*entry), std::memory_order_relaxed);
    kept_.push_back(std::move(entry));
  }
  done.clear();
}

}  // namespace digd::archive
