#include "archive/files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <string>
#include <vector>

namespace digd::archive {

namespace {

constexpr mode_t owner_alone = 0600;

std::error_code sync(const std::string& path, int flags) {
  const int file = ::open(path.c_str(), flags | O_CLOEXEC);
  if (file < 0) return {errno, std::generic_category()};
  const int failed = ::fsync(file) == 0 ? 0 : errno;
  ::close(file);
  return {failed, std::generic_category()};
}

}  // namespace

std::error_code rename_archive_file(const std::string& path, const std::string& to) {
  std::error_code ec, ignored;
  std::vector<std::string> moved;
  for (const char* part : {"-wal", "-shm", ""}) {
    if (!std::filesystem::exists(path + part, ec)) continue;
    std::filesystem::rename(path + part, to + part, ec);
    if (!ec) {
      moved.emplace_back(part);
      continue;
    }
    for (const std::string& back : moved) std::filesystem::rename(to + back, path + back, ignored);
    return ec;
  }
  return {};
}

void remove_archive_file(const std::string& path) {
  std::error_code ignored;
  for (const char* part : {"", "-wal", "-shm", "-journal"}) std::filesystem::remove(path + part, ignored);
}

// O_EXCL: closing a second descriptor of a file in use would drop SQLite's locks on it.
void create_private_file(const std::string& path) {
  const int made = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, owner_alone);
  if (made >= 0) ::close(made);
}

void make_private(const std::string& path) {
  for (const char* part : {"", "-wal", "-shm", "-journal"}) {
    struct stat now {};
    const std::string file = path + part;
    if (::stat(file.c_str(), &now) == 0 && (now.st_mode & 0077) != 0) ::chmod(file.c_str(), owner_alone);
  }
}

std::error_code sync_file(const std::string& path) { return sync(path, O_RDONLY); }

std::error_code sync_folder_of(const std::string& path) {
  const std::filesystem::path folder = std::filesystem::absolute(path).parent_path();
  return sync(folder.string(), O_RDONLY | O_DIRECTORY);
}

}  // namespace digd::archive
