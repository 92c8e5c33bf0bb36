#include "archive/parcel_pool.h"

#include <algorithm>
#include <utility>

namespace digd::archive {

void parcel_pool::take(std::vector<parcel_ptr>& into) {
  const std::unique_lock guard(mutex_, std::try_to_lock);
  if (!guard) return;
  for (std::size_t left = std::min(kept_.size(), max_parcels_at_once); left > 0; --left) {
    bytes_ -= kept_.back()->memory();
    into.push_back(std::move(kept_.back()));
    kept_.pop_back();
  }
}

void parcel_pool::give_back(std::vector<parcel_ptr>& done) {
  {
    const std::lock_guard guard(mutex_);
    for (parcel_ptr& parcel : done) {
      const std::size_t added = parcel->memory();
      if (bytes_ + added > max_bytes) break;
      bytes_ += added;
      kept_.push_back(std::move(parcel));
    }
  }
  done.clear();  // frees the rest, without the lock
}

std::size_t parcel_pool::bytes() const {
  const std::lock_guard guard(mutex_);
  return bytes_;
}

}  // namespace digd::archive
