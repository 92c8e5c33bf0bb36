#include "daemon/attribution/limited_child.h"

#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstring>

namespace digd::daemon {

namespace {

bool set_limits(int resource, std::uint64_t soft, std::uint64_t hard) {
  const ::rlimit limit{soft, hard};
  return ::setrlimit(static_cast<decltype(RLIMIT_AS)>(resource), &limit) == 0;
}

bool set_limit(int resource, std::uint64_t value) { return set_limits(resource, value, value); }

// Forbids sockets, so that the program can send nothing of what it reads. The system call numbers are those of the
// architecture that digd is compiled for; the program is digd's own digctl, compiled for the same one.
bool forbid_sockets() {
  std::array filter{sock_filter BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
                    sock_filter BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_socket, 0, 1),
                    sock_filter BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
                    sock_filter BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
  const sock_fprog program{static_cast<unsigned short>(filter.size()), filter.data()};
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

struct child_files {
  int in, out, err;
};

// A program with a sanitizer could not start: both reserve terabytes of addresses, and that for threads writes a file.
#if defined(__SANITIZE_ADDRESS__)
constexpr bool limits_memory = false, limits_files = true;
#elif defined(__SANITIZE_THREAD__)
constexpr bool limits_memory = false, limits_files = false;
#else
constexpr bool limits_memory = true, limits_files = true;
#endif

// At its CPU time the program gets SIGXCPU, a second later SIGKILL. So SIGKILL alone has another cause, such as memory
// that ran out.
bool limit_rights(child_limits limits) {
  const auto seconds = static_cast<std::uint64_t>(limits.max_time.count());
  return (!limits_memory || set_limit(RLIMIT_AS, limits.max_memory_bytes)) &&
         set_limits(RLIMIT_CPU, seconds, seconds + 1) && (!limits_files || set_limit(RLIMIT_FSIZE, 0)) &&
         set_limit(RLIMIT_CORE, 0) && set_limit(RLIMIT_NOFILE, 64) && forbid_sockets();
}

// In the child, after fork: only system calls. Its exit status is `cannot_start` if the program cannot be started.
constexpr int cannot_start = 126;

[[noreturn]] void become(char* const* words, child_files files, child_limits limits, pid_t parent) {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::signal(SIGPIPE, SIG_DFL);
  static_cast<void>(::setpriority(PRIO_PROCESS, 0, 10));  // engine threads go first; systemd's filter may refuse it
  std::array<char*, 1> no_variables{nullptr};
  if (::getppid() == parent && ::dup2(files.in, STDIN_FILENO) >= 0 && ::dup2(files.out, STDOUT_FILENO) >= 0 &&
      ::dup2(files.err, STDERR_FILENO) >= 0 && ::syscall(SYS_close_range, 3U, ~0U, 0U) == 0 && limit_rights(limits)) {
    ::execve(words[0], words, no_variables.data());
  }
  ::_exit(cannot_start);
}

void close_file(int& file) {
  if (file >= 0) ::close(file);
  file = -1;
}

// Reads what is there. False: the end, or an error.
bool read_some(int file, std::string& into, std::size_t max_bytes, bool& is_full) {
  std::array<char, 65'536> piece{};
  const ssize_t n = ::read(file, piece.data(), piece.size());
  if (n < 0) return errno == EAGAIN || errno == EINTR;
  if (n == 0) return false;
  is_full = into.size() + static_cast<std::size_t>(n) > max_bytes;
  if (!is_full) into.append(piece.data(), static_cast<std::size_t>(n));
  return true;
}

}  // namespace

std::string limited_child::start(const std::string& program, std::vector<std::string> arguments, child_limits limits) {
  std::array<int, 2> in{-1, -1}, out{-1, -1}, err{-1, -1};
  // A socket, not a pipe, for the input: a write to a process that has ended must not raise SIGPIPE.
  const bool ready = ::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, in.data()) == 0 &&
                     ::pipe2(out.data(), O_CLOEXEC) == 0 && ::pipe2(err.data(), O_CLOEXEC) == 0;
  std::string problem = ready ? std::string() : std::string("no pipe: ") + std::strerror(errno);
  if (ready) {
    arguments.insert(arguments.begin(), program);
    std::vector<char*> words;
    words.reserve(arguments.size() + 1);
    for (std::string& word : arguments) words.push_back(word.data());
    words.push_back(nullptr);
    const pid_t parent = ::getpid();
    pid_ = ::fork();
    if (pid_ == 0) become(words.data(), {in[1], out[1], err[1]}, limits, parent);
    if (pid_ < 0) problem = std::string("no process: ") + std::strerror(errno);
  }
  for (int* file : {&in[1], &out[1], &err[1]}) close_file(*file);
  in_ = in[0];
  out_ = out[0];
  err_ = err[0];
  limits_ = limits;
  deadline_ = std::chrono::steady_clock::now() + limits.max_time;
  for (const int file : {in_, out_, err_}) {
    if (file >= 0) ::fcntl(file, F_SETFL, ::fcntl(file, F_GETFL) | O_NONBLOCK);
  }
  return problem;
}

std::string limited_child::take_output() {
  bool is_full = false, is_dropped = false;
  if (out_ >= 0 && !read_some(out_, output_, max_output_bytes, is_full)) close_file(out_);
  if (err_ >= 0 && !read_some(err_, errors_, max_error_bytes, is_dropped)) close_file(err_);
  return is_full ? "it writes more than " + std::to_string(max_output_bytes) + " bytes" : std::string();
}

// Waits until the process takes or writes something, and reads it.
std::string limited_child::wait(bool for_room) {
  if (stopping_.load()) return "digd stops, or the run was deleted";
  if (std::chrono::steady_clock::now() > deadline_) {
    return "it takes more than " + std::to_string(limits_.max_time.count()) + " s";
  }
  std::array<pollfd, 3> files{pollfd{for_room ? in_ : -1, POLLOUT, 0}, pollfd{out_, POLLIN, 0},
                              pollfd{err_, POLLIN, 0}};
  ::poll(files.data(), files.size(), static_cast<int>(check_interval.count()));
  return take_output();
}

std::string limited_child::write(std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = ::send(in_, text.data(), text.size(), MSG_NOSIGNAL);
    if (n >= 0) {
      text.remove_prefix(static_cast<std::size_t>(n));
    } else if (errno == EPIPE || errno == ECONNRESET) {
      const std::string problem = finish();  // the process has ended; the problem has the reason
      return problem.empty() ? "it ended before it had read the run" : problem;
    }
    if (text.empty()) break;
    if (std::string problem = wait(true); !problem.empty()) {
      end();
      return problem;
    }
  }
  return {};
}

std::string limited_child::finish() {
  close_file(in_);
  while (out_ >= 0 || err_ >= 0) {
    if (std::string problem = wait(false); !problem.empty()) {
      end();
      return problem;
    }
  }
  int status = 0;
  if (pid_ <= 0 || ::waitpid(pid_, &status, 0) < 0) return "its end is unknown";
  pid_ = -1;
  return problem_of(status);
}

std::string limited_child::problem_of(int status) const {
  if (WIFSIGNALED(status)) {
    if (WTERMSIG(status) == SIGXCPU) {
      return "it takes more than " + std::to_string(limits_.max_time.count()) + " s of CPU time";
    }
    return "it ended by signal " + std::to_string(WTERMSIG(status)) + "; it may use " +
           std::to_string(limits_.max_memory_bytes >> 20) + " MiB of memory";
  }
  if (WEXITSTATUS(status) == 0) return {};
  if (WEXITSTATUS(status) == cannot_start) return "its program cannot be started";
  const std::string_view words = std::string_view(errors_).substr(0, errors_.find('\n'));
  return words.empty() ? "it ended with status " + std::to_string(WEXITSTATUS(status)) : std::string(words);
}

void limited_child::end() {
  close_file(in_);
  close_file(out_);
  close_file(err_);
  if (pid_ <= 0) return;
  ::kill(-pid_, SIGKILL);
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
  pid_ = -1;
}

}  // namespace digd::daemon
