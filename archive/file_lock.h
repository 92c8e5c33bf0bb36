// An exclusive lock on a file. It is held until it is destroyed or the process ends, even by a crash.
//
// Thread: one at a time. Failure: `take` returns it, with a sentence in `problem`; it never waits.
#pragma once

#include <string>

namespace digd::archive {

class file_lock {
 public:
  file_lock() = default;
  file_lock(const file_lock&) = delete;
  file_lock& operator=(const file_lock&) = delete;
  ~file_lock() { release(); }

  enum class result { taken, held_by_another, failed };
  // Creates the file if missing. The file stays: removing it would let two processes hold the lock.
  result take(const std::string& path, std::string& problem);
  void release();

 private:
  int descriptor_ = -1;
};

}  // namespace digd::archive
