// An exclusive lock on a file, held until destroyed or the process ends, however it ends.
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
  // Creates the file if missing and leaves it when done: removing it would let two holders in.
  result take(const std::string& path, std::string& why);
  void release();

 private:
  int descriptor_ = -1;
};

}  // namespace digd::archive
