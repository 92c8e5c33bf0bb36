#include "archive/log_vfs.h"

#include <sqlite3.h>

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <utility>

#include "base/background_steps.h"

namespace digd::archive {

namespace {

constexpr unsigned pages_a_step = 8;  // of a checkpoint

struct layer : sqlite3_vfs {
  sqlite3_vfs* below = nullptr;
  std::string name;
};

// The log as SQLite sees it. SQLite allocates it, and the file of the layer below behind it.
struct log_file {
  const sqlite3_io_methods* methods;  // SQLite expects them first
  std::unique_ptr<char[]> gathered;   // null: writes are not gathered
  std::size_t used;                   // bytes in `gathered`
  sqlite3_int64 from;                 // their place in the file
  unsigned reads;
};
constexpr std::size_t own_bytes = (sizeof(log_file) + 15) / 16 * 16;

log_file& log_of(sqlite3_file* file) { return *reinterpret_cast<log_file*>(file); }

sqlite3_file* below(sqlite3_file* file) {
  return reinterpret_cast<sqlite3_file*>(reinterpret_cast<char*>(file) + own_bytes);
}

int flush(sqlite3_file* file) {
  log_file& log = log_of(file);
  if (log.used == 0) return SQLITE_OK;
  const int rc = below(file)->pMethods->xWrite(below(file), log.gathered.get(), static_cast<int>(log.used), log.from);
  // After an error the bytes stay: a later sync must fail too, or a commit without them would count as durable.
  if (rc == SQLITE_OK) log.used = 0;
  background_steps::step();
  return rc;
}

// Calls that need the whole log in the file.
template <class Call>
int after_flush(sqlite3_file* file, Call call) {
  const int rc = flush(file);
  return rc == SQLITE_OK ? call(below(file)) : rc;
}

int write(sqlite3_file* file, const void* bytes, int size, sqlite3_int64 at) {
  log_file& log = log_of(file);
  const auto length = static_cast<std::size_t>(size);
  const bool follows = at == log.from + static_cast<sqlite3_int64>(log.used);
  if (log.used > 0 && (!follows || log.used + length > max_gathered_bytes)) {
    if (const int rc = flush(file); rc != SQLITE_OK) return rc;
  }
  if (!log.gathered || length > max_gathered_bytes) return below(file)->pMethods->xWrite(below(file), bytes, size, at);
  if (log.used == 0) log.from = at;
  std::copy_n(static_cast<const char*>(bytes), length, log.gathered.get() + log.used);
  log.used += length;
  return SQLITE_OK;
}

int read(sqlite3_file* file, void* into, int size, sqlite3_int64 at) {
  if (++log_of(file).reads % pages_a_step == 0) background_steps::step();
  return after_flush(file, [&](sqlite3_file* to) { return to->pMethods->xRead(to, into, size, at); });
}

int truncate(sqlite3_file* file, sqlite3_int64 size) {
  return after_flush(file, [&](sqlite3_file* to) { return to->pMethods->xTruncate(to, size); });
}

int sync(sqlite3_file* file, int flags) {
  return after_flush(file, [&](sqlite3_file* to) { return to->pMethods->xSync(to, flags); });
}

int file_size(sqlite3_file* file, sqlite3_int64* size) {
  return after_flush(file, [&](sqlite3_file* to) { return to->pMethods->xFileSize(to, size); });
}

// SQLite ignores what closing returns. Only pages of a transaction that was not committed can be left.
int close(sqlite3_file* file) {
  const int flushed = flush(file);
  const int closed = below(file)->pMethods->xClose(below(file));
  log_of(file).~log_file();
  return flushed != SQLITE_OK ? flushed : closed;
}

int lock(sqlite3_file* file, int level) { return below(file)->pMethods->xLock(below(file), level); }
int unlock(sqlite3_file* file, int level) { return below(file)->pMethods->xUnlock(below(file), level); }
int check_reserved_lock(sqlite3_file* file, int* held) {
  return below(file)->pMethods->xCheckReservedLock(below(file), held);
}
int file_control(sqlite3_file* file, int operation, void* argument) {
  return below(file)->pMethods->xFileControl(below(file), operation, argument);
}
int sector_size(sqlite3_file* file) { return below(file)->pMethods->xSectorSize(below(file)); }
int device_characteristics(sqlite3_file* file) { return below(file)->pMethods->xDeviceCharacteristics(below(file)); }

constexpr sqlite3_io_methods log_methods{.iVersion = 1,  // a log is neither shared memory nor mapped
                                         .xClose = close,
                                         .xRead = read,
                                         .xWrite = write,
                                         .xTruncate = truncate,
                                         .xSync = sync,
                                         .xFileSize = file_size,
                                         .xLock = lock,
                                         .xUnlock = unlock,
                                         .xCheckReservedLock = check_reserved_lock,
                                         .xFileControl = file_control,
                                         .xSectorSize = sector_size,
                                         .xDeviceCharacteristics = device_characteristics};

// Without this property SQLite fills up the last sector of a transaction, and writes a part of that after the sync.
bool allows_gathering(sqlite3_file* file) {
  return (file->pMethods->xDeviceCharacteristics(file) & SQLITE_IOCAP_POWERSAFE_OVERWRITE) != 0;
}

int open(sqlite3_vfs* of, const char* name, sqlite3_file* file, int flags, int* opened) {
  sqlite3_vfs* under = static_cast<layer*>(of)->below;
  if ((flags & SQLITE_OPEN_WAL) == 0) return under->xOpen(under, name, file, flags, opened);
  file->pMethods = nullptr;  // if opening fails, SQLite does not close the file
  const int rc = under->xOpen(under, name, below(file), flags, opened);
  if (rc != SQLITE_OK) {
    if (below(file)->pMethods) below(file)->pMethods->xClose(below(file));
    return rc;
  }
  std::unique_ptr<char[]> buffer;
  if (allows_gathering(below(file))) buffer.reset(new (std::nothrow) char[max_gathered_bytes]);
  new (file) log_file{&log_methods, std::move(buffer), 0, 0, 0};
  return SQLITE_OK;
}

}  // namespace

std::string log_vfs(const std::string& below_name) {
  static std::mutex mutex;
  static std::map<std::string, std::unique_ptr<layer>> layers;  // SQLite keeps pointers to them
  const std::lock_guard guard(mutex);
  std::unique_ptr<layer>& made = layers[below_name];
  if (made) return made->name;
  sqlite3_vfs* under = sqlite3_vfs_find(below_name.empty() ? nullptr : below_name.c_str());
  if (under == nullptr) return below_name;
  // The other functions are those of the layer below.
  made = std::make_unique<layer>(layer{*under, under, "digd-log:" + below_name});
  made->zName = made->name.c_str();
  made->szOsFile = under->szOsFile + static_cast<int>(own_bytes);
  made->pNext = nullptr;
  made->xOpen = open;
  if (sqlite3_vfs_register(made.get(), 0) != SQLITE_OK) return below_name;
  return made->name;
}

}  // namespace digd::archive
