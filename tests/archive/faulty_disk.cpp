#include "tests/archive/faulty_disk.h"

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <new>

namespace digd::archive::testing {

struct faulty_disk::file {
  sqlite3_file base;  // first: SQLite sees this
  faulty_disk* disk;
  std::string* path;   // null: a temporary file
  sqlite3_file* real;  // behind this struct
};

// SQLite's calls, each passed on to the real file.
struct file_calls {
  using file = faulty_disk::file;

  static file& of(sqlite3_file* f) { return *reinterpret_cast<file*>(f); }
  static const sqlite3_io_methods& real(sqlite3_file* f) { return *of(f).real->pMethods; }

  static int close(sqlite3_file* f) {
    int rc = real(f).xClose(of(f).real);
    delete of(f).path;
    f->pMethods = nullptr;
    return rc;
  }
  static int read(sqlite3_file* f, void* into, int bytes, sqlite3_int64 at) {
    return real(f).xRead(of(f).real, into, bytes, at);
  }
  static int write(sqlite3_file* f, const void* from, int bytes, sqlite3_int64 at) {
    if (of(f).path) {
      if (int rc = of(f).disk->next_write_result(*of(f).path); rc != SQLITE_OK) return rc;
      of(f).disk->remember(of(f), at, bytes);
    }
    return real(f).xWrite(of(f).real, from, bytes, at);
  }
  static int truncate(sqlite3_file* f, sqlite3_int64 size) {
    sqlite3_int64 now = 0;
    real(f).xFileSize(of(f).real, &now);
    if (of(f).path && now > size) of(f).disk->remember(of(f), size, now - size);
    return real(f).xTruncate(of(f).real, size);
  }
  static int sync(sqlite3_file* f, int flags) {
    if (of(f).path) {
      of(f).disk->syncs_hang.wait(true);
      if (int rc = of(f).disk->next_sync_result(*of(f).path); rc != SQLITE_OK) return rc;
    }
    int rc = real(f).xSync(of(f).real, flags);
    if (rc == SQLITE_OK && of(f).path) of(f).disk->forget(*of(f).path);
    return rc;
  }
  static int size(sqlite3_file* f, sqlite3_int64* into) { return real(f).xFileSize(of(f).real, into); }
  static int lock(sqlite3_file* f, int level) { return real(f).xLock(of(f).real, level); }
  static int unlock(sqlite3_file* f, int level) { return real(f).xUnlock(of(f).real, level); }
  static int is_reserved(sqlite3_file* f, int* out) { return real(f).xCheckReservedLock(of(f).real, out); }
  static int control(sqlite3_file* f, int value, void* arg) { return real(f).xFileControl(of(f).real, value, arg); }
  static int sector_size(sqlite3_file* f) { return real(f).xSectorSize(of(f).real); }
  static int characteristics(sqlite3_file* f) { return of(f).disk->characteristics; }
  static int shm_map(sqlite3_file* f, int page, int bytes, int extend, void volatile** out) {
    return real(f).xShmMap(of(f).real, page, bytes, extend, out);
  }
  static int shm_lock(sqlite3_file* f, int offset, int n, int flags) {
    return real(f).xShmLock(of(f).real, offset, n, flags);
  }
  static void shm_barrier(sqlite3_file* f) { real(f).xShmBarrier(of(f).real); }
  static int shm_unmap(sqlite3_file* f, int remove) { return real(f).xShmUnmap(of(f).real, remove); }

  static const sqlite3_io_methods* methods() {
    static const sqlite3_io_methods sqlite3_io_methods{
        2,         close,       read,    write,       truncate,        sync,    size,     lock,
        unlock,    is_reserved, control, sector_size, characteristics, shm_map, shm_lock, shm_barrier,
        shm_unmap, nullptr,     nullptr};
    return &sqlite3_io_methods;
  }

  static int open(sqlite3_vfs* vfs, const char* path, sqlite3_file* f, int flags, int* out_flags) {
    auto& disk = *static_cast<faulty_disk*>(vfs->pAppData);
    auto& opened = of(f);
    opened.disk = &disk;
    opened.path = nullptr;
    opened.real = reinterpret_cast<sqlite3_file*>(reinterpret_cast<char*>(f) + sizeof(file));
    int rc = disk.real_->xOpen(disk.real_, path, opened.real, flags, out_flags);
    f->pMethods = opened.real->pMethods != nullptr ? methods() : nullptr;
    if (rc == SQLITE_OK && path != nullptr) opened.path = new std::string(path);
    return rc;
  }
  static int remove(sqlite3_vfs* vfs, const char* path, int sync) {
    auto& disk = *static_cast<faulty_disk*>(vfs->pAppData);
    disk.forget(path);
    return disk.real_->xDelete(disk.real_, path, sync);
  }
};

faulty_disk::faulty_disk() : real_(sqlite3_vfs_find(nullptr)) {
  static std::atomic<int> count{0};
  name_ = "faulty-disk-" + std::to_string(++count);
  vfs_ = *real_;
  vfs_.szOsFile = static_cast<int>(sizeof(file)) + real_->szOsFile;
  vfs_.zName = name_.c_str();
  vfs_.pNext = nullptr;
  vfs_.pAppData = this;
  vfs_.xOpen = file_calls::open;
  vfs_.xDelete = file_calls::remove;
  // The others are handed this VFS and not the real one, whose data the Unix VFS looks into when it opens
  // only.
  sqlite3_vfs_register(&vfs_, 0);
}

faulty_disk::~faulty_disk() { sqlite3_vfs_unregister(&vfs_); }

void faulty_disk::fail_writes(int code, const std::string& only) {
  std::lock_guard guard(mutex_);
  write_code_ = code;
  write_only_ = only;
}

void faulty_disk::fail_syncs(int code, const std::string& only) {
  std::lock_guard guard(mutex_);
  sync_code_ = code;
  sync_only_ = only;
}

void faulty_disk::work_again() {
  fail_writes(SQLITE_OK);
  fail_syncs(SQLITE_OK);
  syncs_hang = false;
  syncs_hang.notify_all();
}

bool faulty_disk::should_fail(int code, const std::string& only, const std::string& path) {
  if (code == SQLITE_OK || !path.ends_with(only)) return false;
  failed.fetch_add(1);
  return true;
}

int faulty_disk::next_write_result(const std::string& path) {
  if (path.ends_with("-wal")) ++log_writes;
  if (die_after_writes >= 0 && die_after_writes-- == 0) ::raise(SIGKILL);
  std::lock_guard guard(mutex_);
  return should_fail(write_code_, write_only_, path) ? write_code_ : SQLITE_OK;
}

int faulty_disk::next_sync_result(const std::string& path) {
  std::lock_guard guard(mutex_);
  return should_fail(sync_code_, sync_only_, path) ? sync_code_ : SQLITE_OK;
}

void faulty_disk::remember(file& which, sqlite3_int64 at, sqlite3_int64 bytes) {
  undo step{at, {}, 0};
  which.real->pMethods->xFileSize(which.real, &step.size_before);
  if (auto there = std::min(bytes, step.size_before - at); there > 0) {
    step.before.resize(static_cast<std::size_t>(there));
    which.real->pMethods->xRead(which.real, step.before.data(), static_cast<int>(there), at);
  }
  std::lock_guard guard(mutex_);
  not_synced_[*which.path].push_back(std::move(step));
}

void faulty_disk::forget(const std::string& path) {
  std::lock_guard guard(mutex_);
  not_synced_.erase(path);
}

void faulty_disk::copy_after_power_cut(const std::string& from, const std::string& to) {
  namespace fs = std::filesystem;
  std::lock_guard guard(mutex_);
  for (const std::string suffix : {"", "-wal"}) {
    fs::remove(to + suffix);
    if (!fs::exists(from + suffix)) continue;
    // Copies by reading and writing, in another process for the database: closing a further descriptor of a file drops
    // SQLite's locks on it. The log has no locks.
    if (std::system(("cp '" + from + suffix + "' '" + to + suffix + "'").c_str()) != 0) continue;
    auto& steps = not_synced_[from + suffix];
    for (auto step = steps.rbegin(); step != steps.rend(); ++step) {
      std::fstream out(to + suffix, std::ios::in | std::ios::out | std::ios::binary);
      out.seekp(step->at);
      out.write(step->before.data(), static_cast<std::streamsize>(step->before.size()));
      out.close();
      fs::resize_file(to + suffix, static_cast<std::uintmax_t>(step->size_before));
    }
  }
}

}  // namespace digd::archive::testing
