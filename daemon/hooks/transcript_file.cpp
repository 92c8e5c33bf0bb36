#include "daemon/hooks/transcript_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/descriptor.h"

namespace digd::daemon {

namespace {

// The path below the folder; empty: it is not below it.
std::string_view path_below(std::string_view root, std::string_view path) {
  while (root.size() > 1 && root.ends_with('/')) root.remove_suffix(1);
  if (!root.starts_with('/') || !path.starts_with(root)) return {};
  path.remove_prefix(root.size());
  if (root == "/") return path;
  return path.starts_with('/') ? path.substr(1) : std::string_view();
}

// Opens one folder after the other, so that no step follows a link.
descriptor open_below(const std::string& root, std::string_view path) {
  descriptor at(::open(root.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  while (at.is_open()) {
    const std::size_t end = path.find('/');
    const std::string step(path.substr(0, end));
    if (step.empty() || step == "." || step == "..") return descriptor(-1);
    if (end == std::string_view::npos) {
      // Without O_NONBLOCK, a pipe would wait for its writer.
      return descriptor(::openat(at.number(), step.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
    }
    at = descriptor(::openat(at.number(), step.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    path.remove_prefix(end + 1);
  }
  return descriptor(-1);
}

std::optional<std::string> text_of_file(const descriptor& file, std::size_t max_bytes) {
  struct stat is {};
  if (::fstat(file.number(), &is) != 0 || !S_ISREG(is.st_mode) || is.st_nlink > 1) return std::nullopt;
  if (static_cast<std::size_t>(is.st_size) > max_bytes) return std::nullopt;
  std::string text(static_cast<std::size_t>(is.st_size), '\0');  // what the program appends meanwhile counts next time
  std::size_t filled = 0;
  while (filled < text.size()) {
    const ssize_t got = ::read(file.number(), text.data() + filled, text.size() - filled);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return std::nullopt;
    if (got == 0) break;
    filled += static_cast<std::size_t>(got);
  }
  text.resize(filled);
  return text;
}

}  // namespace

std::optional<std::string> read_file_below(std::span<const std::string> roots, std::string_view path,
                                           std::size_t max_bytes) {
  if (path.find('\0') != std::string_view::npos) return std::nullopt;
  for (const std::string& root : roots) {
    const std::string_view below = path_below(root, path);
    if (below.empty()) continue;
    if (const descriptor file = open_below(root, below); file.is_open()) return text_of_file(file, max_bytes);
  }
  return std::nullopt;
}

}  // namespace digd::daemon
