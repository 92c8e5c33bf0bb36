// Empty parcels that the writer has unpacked, for the engine threads to fill again: they keep their memory.
//
// Thread: any. `take` never waits, because the writer has a lower priority and may be interrupted in `give_back`.
// Bounds: `max_bytes`; further parcels are freed.
#pragma once

#include <cstddef>
#include <mutex>
#include <vector>

#include "archive/parcel.h"

namespace digd::archive {

class parcel_pool {
 public:
  static constexpr std::size_t max_bytes = 5u << 18;
  static constexpr std::size_t max_parcels_at_once = 16;

  // Moves up to `max_parcels_at_once` to the end of `into`; none if there are none, or if another thread uses the pool.
  void take(std::vector<parcel_ptr>& into);
  // Keeps the empty parcels, as far as the bound allows. `done` is empty afterwards.
  void give_back(std::vector<parcel_ptr>& done);

  std::size_t bytes() const;

 private:
  mutable std::mutex mutex_;
  std::vector<parcel_ptr> kept_;
  std::size_t bytes_ = 0;  // of `kept_`
};

}  // namespace digd::archive
