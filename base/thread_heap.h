// The memory that malloc keeps ready for the calling thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdlib>

namespace digd {

// Makes the next 8 MiB of the calling thread's heap accessible, without using memory. Otherwise glibc extends the heap
// of any thread but the first by a page or two at a time. Each extension is a system call (mprotect), for which a
// message would wait. Call it once, before the thread allocates much. With another malloc it has no effect.
inline void prepare_thread_heap() {
  constexpr std::size_t bytes = std::size_t{64} << 10;  // below the size from which malloc maps memory of its own
  std::array<void*, 128> pieces{};
  for (void*& piece : pieces) piece = std::malloc(bytes);
  for (void* piece : pieces) std::free(piece);
}

}  // namespace digd
