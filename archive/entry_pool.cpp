#include "archive/entry_pool.h"

#include <algorithm>
#include <iterator>

namespace digd::archive {

void entry_pool::take(std::vector<entry_ptr>& into) {
  const std::lock_guard guard(mutex_);
  const auto count = static_cast<std::ptrdiff_t>(std::min(kept_.size(), entries_at_once));
  into.insert(into.end(), std::make_move_iterator(kept_.end() - count), std::make_move_iterator(kept_.end()));
  kept_.erase(kept_.end() - count, kept_.end());
}

void entry_pool::give_back(std::vector<entry_ptr>& done) {
  std::erase_if(done, [](const entry_ptr& entry) { return entry->text_capacity() > max_kept_bytes; });
  for (const entry_ptr& entry : done) entry->reset();
  {
    const std::lock_guard guard(mutex_);
    const auto count = static_cast<std::ptrdiff_t>(std::min(done.size(), max_entries - kept_.size()));
    kept_.insert(kept_.end(), std::make_move_iterator(done.begin()), std::make_move_iterator(done.begin() + count));
  }
  done.clear();  // frees the rest, without the lock
}

std::size_t entry_pool::size() const {
  const std::lock_guard guard(mutex_);
  return kept_.size();
}

}  // namespace digd::archive
