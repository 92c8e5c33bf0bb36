// A disk that fails on demand and remembers what is not synced: an SQLite VFS in front of the default one.
//
// Threads: the switches may change at any time. Call `copy_after_power_cut` only while nothing is written.
#pragma once

#include <sqlite3.h>

#include <atomic>
#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace digd::archive::testing {

class faulty_disk {
 public:
  faulty_disk();  // registers itself under `name`
  ~faulty_disk();
  faulty_disk(const faulty_disk&) = delete;
  faulty_disk& operator=(const faulty_disk&) = delete;

  const std::string& name() const { return name_; }

  // SQLite result codes that writes and syncs fail with; SQLITE_OK: they work. `only` limits it to files
  // whose name ends so ("-wal"; "" is every file).
  void fail_writes(int code, const std::string& only = {});
  void fail_syncs(int code, const std::string& only = {});
  void work_again();

  // What it claims to be. Set it before a file is opened.
  std::atomic<int> characteristics{SQLITE_IOCAP_POWERSAFE_OVERWRITE};

  // While true, a sync does not return.
  std::atomic<bool> syncs_hang{false};

  // Copies the database and its log as a power cut would leave them: without what was not synced.
  void copy_after_power_cut(const std::string& from, const std::string& to);

  // The process kills itself in place of a write, after so many further writes; below 0: never.
  std::atomic<int> die_after_writes{-1};

  std::atomic<std::uint64_t> failed{0};      // operations that were made to fail
  std::atomic<std::uint64_t> log_writes{0};  // calls that wrote to a log

 private:
  struct undo {
    sqlite3_int64 at;
    std::string before;  // what was there
    sqlite3_int64 size_before;
  };
  struct file;  // what SQLite is given
  friend struct file_calls;

  bool should_fail(int code, const std::string& only, const std::string& path);
  int next_write_result(const std::string& path);
  int next_sync_result(const std::string& path);
  void remember(file& which, sqlite3_int64 at, sqlite3_int64 bytes);
  void forget(const std::string& path);

  std::string name_;
  sqlite3_vfs vfs_{};
  sqlite3_vfs* real_ = nullptr;
  std::mutex mutex_;
  int write_code_ = SQLITE_OK, sync_code_ = SQLITE_OK;
  std::string write_only_, sync_only_;
  std::map<std::string, std::vector<undo>> not_synced_;
};

}  // namespace digd::archive::testing
