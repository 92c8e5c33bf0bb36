#include "archive/file_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace digd::archive {

file_lock::result file_lock::take(const std::string& path, std::string& problem) {
  release();
  descriptor_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (descriptor_ < 0) {
    problem = "cannot open " + path + ": " + std::strerror(errno);
    return result::failed;
  }
  while (::flock(descriptor_, LOCK_EX | LOCK_NB) != 0) {
    if (errno == EINTR) continue;
    bool held = errno == EWOULDBLOCK;
    problem = held ? "another process holds " + path : "cannot lock " + path + ": " + std::strerror(errno);
    release();
    return held ? result::held_by_another : result::failed;
  }
  return result::taken;
}

void file_lock::release() {
  if (descriptor_ >= 0) ::close(descriptor_);
  descriptor_ = -1;
}

}  // namespace digd::archive
