#include "base/child_process.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <string_view>
#include <thread>

extern char** environ;

namespace digd {

namespace {

// Repeats a system call that a signal's handler has interrupted.
template <class Call>
auto again_if_interrupted(Call call) {
  auto result = call();
  while (result < 0 && errno == EINTR) result = call();
  return result;
}

constexpr unsigned close_range_cloexec = 4;  // CLOSE_RANGE_CLOEXEC, which older headers lack

// Arrays for execvpe. They point into the strings, which must outlive them.
std::vector<char*> pointers_to(std::vector<std::string>& words) {
  std::vector<char*> pointers;
  pointers.reserve(words.size() + 1);
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  return pointers;
}

std::vector<std::string> environment_of(const child_command& command) {
  std::vector<std::string> variables;
  for (char** at = environ; *at != nullptr; ++at) {
    const std::string_view variable = *at;
    bool kept = command.inherits_digd_variables || !variable.starts_with("DIGD_");
    for (const auto& [name, value] : command.variables) kept = kept && !variable.starts_with(name + '=');
    if (kept) variables.emplace_back(variable);
  }
  for (const auto& [name, value] : command.variables) variables.emplace_back(name).append("=").append(value);
  return variables;
}

// In the child, after fork: only system calls. Sends errno through `failure` if the program cannot be started.
[[noreturn]] void become(const child_command& command, char* const* words, char* const* variables, int failure,
                         pid_t parent) {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  bool ready = ::getppid() == parent;  // else the parent died before prctl
  if (!command.log.empty()) {
    const int log = ::open(command.log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    ready = ready && log >= 0 && ::dup2(log, STDOUT_FILENO) >= 0 && ::dup2(log, STDERR_FILENO) >= 0;
  }
  if (command.output >= 0) ready = ready && ::dup2(command.output, STDOUT_FILENO) >= 0;
  const int input = command.input >= 0 ? command.input : ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  ready = ready && input >= 0 && ::dup2(input, STDIN_FILENO) >= 0;
  ready = ready && ::syscall(SYS_close_range, 3U, ~0U, close_range_cloexec) == 0;
  if (ready) ::execvpe(words[0], words, variables);
  const int reason = errno;
  static_cast<void>(!::write(failure, &reason, sizeof reason));
  ::_exit(127);
}

}  // namespace

std::string child_process::start(const child_command& command) {
  std::vector<std::string> words = command.words, variables = environment_of(command);
  const std::vector<char*> word_pointers = pointers_to(words), variable_pointers = pointers_to(variables);
  std::array<int, 2> failure{};
  if (::pipe2(failure.data(), O_CLOEXEC) != 0) return std::string("no pipe: ") + std::strerror(errno);
  const pid_t parent = ::getpid();
  pid_ = ::fork();
  if (pid_ == 0) become(command, word_pointers.data(), variable_pointers.data(), failure[1], parent);
  const int fork_error = errno;
  ::close(failure[1]);
  int reason = pid_ < 0 ? fork_error : 0;
  // The pipe closes without a byte when the program starts.
  if (pid_ > 0 && again_if_interrupted([&] { return ::read(failure[0], &reason, sizeof reason); }) <= 0) reason = 0;
  ::close(failure[0]);
  if (reason == 0) return {};
  if (pid_ > 0) again_if_interrupted([&] { return ::waitpid(pid_, nullptr, 0); });
  pid_ = -1;
  return command.words.front() + ": " + std::strerror(reason);
}

std::optional<int> child_process::ended() {
  if (pid_ <= 0) return status_;
  int status = 0;
  const pid_t waited = ::waitpid(pid_, &status, WNOHANG);
  if (waited == 0) return {};
  pid_ = -1;
  status_ = waited < 0 ? 1 : WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return status_;
}

void child_process::end() {
  if (pid_ <= 0 || ended()) return;
  ::kill(pid_, SIGTERM);
  const auto deadline = std::chrono::steady_clock::now() + max_end_time;
  while (!ended() && std::chrono::steady_clock::now() < deadline)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  if (pid_ <= 0) return;
  ::kill(pid_, SIGKILL);
  again_if_interrupted([&] { return ::waitpid(pid_, nullptr, 0); });
  pid_ = -1;
}

}  // namespace digd
