#include "archive/entry_pool.h"

#include <algorithm>
#include <utility>

namespace digd::archive {

namespace {

std::size_t memory_of(const entry& kept) { return sizeof kept + kept.text_capacity(); }

}  // namespace

void entry_pool::take(std::vector<entry_ptr>& into) {
  const std::lock_guard guard(mutex_);
  for (std::size_t left = std::min(kept_.size(), entries_at_once); left > 0; --left) {
    bytes_ -= memory_of(*kept_.back());
    into.push_back(std::move(kept_.back()));
    kept_.pop_back();
  }
}

void entry_pool::give_back(std::vector<entry_ptr>& done) {
  std::erase_if(done, [](const entry_ptr& entry) { return entry->text_capacity() > max_kept_bytes; });
  for (const entry_ptr& entry : done) entry->reset();
  {
    const std::lock_guard guard(mutex_);
    for (entry_ptr& entry : done) {
      const std::size_t added = memory_of(*entry);
      if (bytes_ + added > max_bytes) break;
      bytes_ += added;
      kept_.push_back(std::move(entry));
    }
  }
  done.clear();  // frees the rest, without the lock
}

std::size_t entry_pool::size() const {
  const std::lock_guard guard(mutex_);
  return kept_.size();
}

std::size_t entry_pool::bytes() const {
  const std::lock_guard guard(mutex_);
  return bytes_;
}

}  // namespace digd::archive
