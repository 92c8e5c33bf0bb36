// Kills a process that writes. Everything that it reported durable must be in the file.
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <thread>

#include "tests/archive/support.h"

namespace digd::archive::testing {

namespace {

struct promise {
  std::uint64_t run, seq;
};
static_assert(sizeof(promise) <= 512);  // a pipe writes up to this many bytes completely or not at all

// Never returns: writes until it is killed, and reports to the pipe what is durable.
[[noreturn]] void write_forever(const std::string& path, int pipe) {
  options options;
  options.path = path;
  options.checkpoint_pages = 200;
  options.max_batch_entries = 500;
  auto opened = archive::open(options, [pipe](std::span<const durable> progress) {
    for (const auto& progress : progress) {
      promise made{progress.run_number, progress.seq};
      if (::write(pipe, &made, sizeof made) != sizeof made) ::_exit(1);
    }
  });
  if (!opened) ::_exit(1);
  auto engine = [&](std::uint64_t run) {
    auto p = (*opened)->make_producer();
    push(*p, opening(run));
    for (std::uint64_t seq = 1;; ++seq) push(*p, message(run, seq));
  };
  const auto first = (*opened)->next_run_number();
  std::thread other([&] { engine(first + 1); });
  engine(first);
  ::_exit(1);
}

}  // namespace

TEST_CASE("an_entry_reported_durable_survives_a_kill", "[archive]") {
  temporary_folder folder;
  std::uint64_t first_run = 1;
  for (std::size_t round = 0; round < 4; ++round, first_run += 2) {
    std::array<int, 2> pipe{};
    REQUIRE(::pipe(pipe.data()) == 0);
    const auto child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      ::close(pipe[0]);
      write_forever(folder.file(), pipe[1]);
    }
    ::close(pipe[1]);
    std::map<std::uint64_t, std::uint64_t> promised;
    promise made{};
    for (std::size_t count = 0; ::read(pipe[0], &made, sizeof made) == sizeof made; ++count) {
      promised[made.run] = made.seq;
      if (count >= 20 + round * 9 && promised.size() == 2) ::kill(child, SIGKILL);
    }
    ::close(pipe[0]);
    int status = 0;
    ::waitpid(child, &status, 0);
    REQUIRE(WIFSIGNALED(status));

    reports seen;
    auto a = open_archive(folder.file(), seen);
    REQUIRE(promised.size() == 2);
    for (const auto& [run, seq] : promised) {
      auto entries = entries_of(*a, run);
      REQUIRE(entries.size() > seq);
      REQUIRE(is_without_gaps(entries));
    }
    CHECK(a->next_run_number() == first_run + 2);
  }
}

}  // namespace digd::archive::testing
