#include "archive/damage_watch.h"

#include <sqlite3.h>

#include <algorithm>
#include <utility>

#include "base/thread_name.h"
#include "base/thread_priority.h"

namespace digd::archive {

namespace {

bool is_damage(const failure& failed) {
  return failed.primary() == SQLITE_CORRUPT || failed.primary() == SQLITE_NOTADB;
}

}  // namespace

damage_watch::damage_watch(std::string path, std::string vfs, std::chrono::milliseconds every,
                           std::function<void(const std::string&)> on_damage)
    : path_(std::move(path)), vfs_(std::move(vfs)), every_(every), on_damage_(std::move(on_damage)) {
  thread_ = std::thread([this] {
    name_this_thread("archive-check");
    lower_thread_priority();
    work();
  });
}

void damage_watch::stop() {
  {
    const std::lock_guard guard(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
}

std::string damage_watch::words() const {
  const std::lock_guard guard(mutex_);
  return words_;
}

bool damage_watch::wait(std::chrono::milliseconds within) {
  std::unique_lock guard(mutex_);
  return !wake_.wait_for(guard, within, [this] { return stopping_; });
}

void damage_watch::work() {
  while (wait(every_)) {
    const failure failed = look();
    if (!is_damage(failed)) continue;
    const std::string words = "a check of the file found damage: " + failed.words +
                              "; stop digd and start it again: it keeps what can be read (docs/archive.md)";
    {
      const std::lock_guard guard(mutex_);
      words_ = words;
    }
    return on_damage_(words);
  }
}

failure damage_watch::look() {
  if (!db_) {
    if (failure failed = db_.open(path_, open_mode::read_only, vfs_)) return failed;
  }
  db_.release_memory();  // so that cached pages are read from the file again
  left_bytes_ = max_bytes_a_look;
  std::int64_t newest = 0;
  failure failed = db_.query("SELECT max(id) FROM entries", newest);
  constexpr std::size_t part = max_rows_a_look / 8;
  if (!failed) failed = read("entries", "frame", std::max<std::int64_t>(newest - part, 0), part, nullptr);
  for (int i = 0; !failed && i < 4; ++i) {
    const auto at = newest > 0 ? static_cast<std::int64_t>(random_()) % newest : 0;
    failed = read("entries", "frame", at, part / 2, nullptr);
  }
  if (!failed) failed = read("detections", "json", static_cast<std::int64_t>(random_()) % (newest + 1), part, nullptr);
  if (failed) return failed;
  std::int64_t last = in_turn_;
  failed = read("entries", "frame", in_turn_, 4 * part, &last);
  in_turn_ = last == in_turn_ ? 0 : last;
  return failed;
}

// Rows after `from`, in the order of their ids.
failure damage_watch::read(std::string_view table, std::string_view text, std::int64_t from, std::size_t rows,
                           std::int64_t* last) {
  statement select;
  const std::string sql = "SELECT id, " + std::string(text) + " FROM " + std::string(table) +
                          " WHERE id > ?1 ORDER BY id LIMIT " + std::to_string(rows);
  if (failure failed = db_.prepare(sql, select)) return failed;
  select.bind(1, from);
  failure failed;
  while (left_bytes_ > 0 && select.step(failed)) {
    left_bytes_ -= std::min(left_bytes_, select.text(1).size());
    if (last != nullptr) *last = select.integer(0);
  }
  return failed;
}

}  // namespace digd::archive
