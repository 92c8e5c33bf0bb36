#include "analysis/shapley/child_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>

extern char** environ;

namespace digd::shapley {

namespace {

long long now_ms() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

bool is_gone(int error) { return error == ECONNRESET || error == EPIPE; }

}  // namespace

std::string child_process::start(const std::string& command) {
  end();
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return std::strerror(errno);
  posix_spawn_file_actions_t files;
  posix_spawnattr_t attributes;
  ::posix_spawn_file_actions_init(&files);
  ::posix_spawn_file_actions_adddup2(&files, ends[1], 0);
  ::posix_spawn_file_actions_adddup2(&files, ends[1], 1);
  ::posix_spawnattr_init(&attributes);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  ::posix_spawnattr_setpgroup(&attributes, 0);
  const char* const arguments[] = {"sh", "-c", command.c_str(), nullptr};
  const int failed = ::posix_spawn(&pid_, "/bin/sh", &files, &attributes, const_cast<char* const*>(arguments), environ);
  ::posix_spawnattr_destroy(&attributes);
  ::posix_spawn_file_actions_destroy(&files);
  ::close(ends[1]);
  if (failed != 0) {
    pid_ = -1;
    ::close(ends[0]);
    return std::strerror(failed);
  }
  socket_ = ends[0];
  ::fcntl(socket_, F_SETFL, O_NONBLOCK);
  unread_.clear();
  return {};
}

std::string child_process::wait(short events, deadline until, const std::atomic<bool>* stop) const {
  for (;;) {
    if (stop != nullptr && stop->load(std::memory_order_relaxed)) return "stopped";
    const long long left = until - now_ms();
    if (left <= 0) return "it did not answer in time";
    pollfd ready{socket_, events, 0};
    const int n = ::poll(&ready, 1, static_cast<int>(left < 100 ? left : 100));
    if (n > 0) return {};
    if (n < 0 && errno != EINTR) return std::strerror(errno);
  }
}

std::string child_process::converse(std::string_view line, std::string& answer, int timeout_ms,
                                    const std::atomic<bool>* stop) {
  const deadline until = now_ms() + timeout_ms;
  std::string out(line);
  out += '\n';
  std::size_t sent = 0;
  for (;;) {
    // Reads while it writes: a child may start to answer before it has read the whole batch.
    char part[1 << 16];
    const ssize_t n = ::recv(socket_, part, sizeof part, 0);
    if (n == 0 || (n < 0 && is_gone(errno))) return "it has ended";
    if (n < 0 && errno != EAGAIN && errno != EINTR) return std::strerror(errno);
    if (n > 0) {
      unread_.append(part, static_cast<std::size_t>(n));
      if (const std::size_t at = unread_.find('\n', unread_.size() - static_cast<std::size_t>(n));
          at != std::string::npos) {
        if (sent < out.size()) return "it answered before it was asked";
        answer.assign(unread_, 0, at);
        unread_.erase(0, at + 1);
        return unread_.empty() ? std::string() : "it answered with more than one line";
      }
      if (unread_.size() > max_line_bytes) return "its answer is too long";
      continue;
    }
    if (sent < out.size()) {
      const ssize_t done = ::send(socket_, out.data() + sent, out.size() - sent, MSG_NOSIGNAL);
      if (done > 0) {
        sent += static_cast<std::size_t>(done);
        continue;
      }
      if (done < 0 && is_gone(errno)) return "it has ended";
      if (done < 0 && errno != EAGAIN && errno != EINTR) return std::strerror(errno);
    }
    const short events = static_cast<short>(POLLIN | (sent < out.size() ? POLLOUT : 0));
    if (std::string problem = wait(events, until, stop); !problem.empty()) return problem;
  }
}

void child_process::end() {
  if (socket_ >= 0) ::close(socket_);
  socket_ = -1;
  if (pid_ <= 0) return;
  for (int waited_ms = 0; waited_ms < 200; waited_ms += 5) {
    if (::waitpid(pid_, nullptr, WNOHANG) != 0) {
      pid_ = -1;
      return;
    }
    ::usleep(5'000);
  }
  ::kill(-pid_, SIGKILL);  // the whole process group
  ::waitpid(pid_, nullptr, 0);
  pid_ = -1;
}

}  // namespace digd::shapley
