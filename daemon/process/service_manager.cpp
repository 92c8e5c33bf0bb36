#include "daemon/process/service_manager.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <optional>

namespace digd::daemon {

namespace {

constexpr int first_socket = 3;    // SD_LISTEN_FDS_START
constexpr int max_sockets = 1024;  // a larger number is a mistake

std::string take_variable(const char* name) {
  const char* value = std::getenv(name);
  std::string taken = value != nullptr ? value : "";
  ::unsetenv(name);
  return taken;
}

std::optional<std::uint64_t> number(const std::string& text) {
  std::uint64_t n = 0;
  const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), n);
  if (ec != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return n;
}

bool is_ours(const std::string& pid) { return number(pid) == static_cast<std::uint64_t>(::getpid()); }

// Makes one line of a text that may have an address or a path in it: a second line would be another message.
std::string one_line(std::string_view words) {
  std::string line(words);
  std::replace(line.begin(), line.end(), '\n', ' ');
  return line;
}

}  // namespace

service_manager::service_manager() : socket_(take_variable("NOTIFY_SOCKET")) {
  const std::string watched = take_variable("WATCHDOG_PID");
  const auto interval = number(take_variable("WATCHDOG_USEC"));
  if (interval && (watched.empty() || is_ours(watched))) watchdog_ = std::chrono::microseconds(*interval);

  const std::string meant_for = take_variable("LISTEN_PID");
  const auto count = number(take_variable("LISTEN_FDS"));
  take_variable("LISTEN_FDNAMES");
  if (!count || !is_ours(meant_for)) return;
  for (int fd = first_socket; fd < first_socket + static_cast<int>(std::min<std::uint64_t>(*count, max_sockets));
       ++fd) {
    ::fcntl(fd, F_SETFD, FD_CLOEXEC);
    sockets_.push_back(fd);
  }
}

void service_manager::ready(std::string_view words) { notify("READY=1\nSTATUS=" + one_line(words)); }

void service_manager::reloading() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  const auto us = static_cast<std::uint64_t>(now.tv_sec) * 1'000'000 + static_cast<std::uint64_t>(now.tv_nsec) / 1'000;
  notify("RELOADING=1\nMONOTONIC_USEC=" + std::to_string(us) + "\nSTATUS=reading the configuration");
}

void service_manager::stopping() { notify("STOPPING=1\nSTATUS=closing connections, writing what is left"); }

void service_manager::status(std::string_view words) { notify("STATUS=" + one_line(words)); }

void service_manager::alive() { notify("WATCHDOG=1"); }

void service_manager::notify(const std::string& state) {
  sockaddr_un to{};
  if (socket_.empty() || socket_.size() >= sizeof to.sun_path) return;
  if (socket_.front() != '/' && socket_.front() != '@') return;
  to.sun_family = AF_UNIX;
  std::memcpy(to.sun_path, socket_.data(), socket_.size());
  if (to.sun_path[0] == '@') to.sun_path[0] = '\0';  // abstract
  const int fd = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return;
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + socket_.size());
  static_cast<void>(::sendto(fd, state.data(), state.size(), MSG_NOSIGNAL, reinterpret_cast<sockaddr*>(&to), length));
  ::close(fd);
}

}  // namespace digd::daemon
