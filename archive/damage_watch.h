// Looks for damage in the archive file while it is in use. At fixed intervals it reads the newest rows, some random
// rows and the next rows in turn, bypassing SQLite's cache. So it notices an overwritten or truncated file at the next
// look, and a single damaged page when a look reaches its rows.
//
// Threads: one of its own, at low priority; any thread may call `words`. Lifetime: ends before the file is closed.
// Bounds: each look reads at most `max_rows_a_look` rows and `max_bytes_a_look` bytes. Failure: a look that fails for
// another reason than damage reports nothing.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <random>
#include <string>
#include <string_view>
#include <thread>

#include "archive/sqlite.h"

namespace digd::archive {

class damage_watch {
 public:
  static constexpr std::size_t max_rows_a_look = 256, max_bytes_a_look = 4u << 20;

  // `on_damage` is called once, on the watch's thread, with a sentence.
  damage_watch(std::string path, std::string vfs, std::chrono::milliseconds every,
               std::function<void(const std::string&)> on_damage);
  ~damage_watch() { stop(); }
  void stop();

  std::string words() const;  // empty: no damage was found

 private:
  void work();
  failure look();
  failure read(std::string_view table, std::string_view text, std::int64_t from, std::size_t rows, std::int64_t* last);
  bool wait(std::chrono::milliseconds within);  // false: the watch is stopping

  const std::string path_, vfs_;
  const std::chrono::milliseconds every_;
  const std::function<void(const std::string&)> on_damage_;
  connection db_;
  std::size_t left_bytes_ = 0;  // of this look
  std::int64_t in_turn_ = 0;    // where the reading in turn ended at the last look; 0: at the beginning
  std::minstd_rand random_;
  mutable std::mutex mutex_;
  std::condition_variable wake_;
  bool stopping_ = false;
  std::string words_;
  std::thread thread_;
};

}  // namespace digd::archive
