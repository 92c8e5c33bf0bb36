// The program that reads an untrusted run: what it may do, and how its end is reported.
#include "daemon/attribution/limited_child.h"

#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <string>

namespace digd::daemon {

namespace {

constexpr child_limits usual{.max_memory_bytes = 256u << 20, .max_time = std::chrono::seconds(30)};

struct ended_child {
  std::string problem, output;
};

ended_child run_shell(const std::string& script, child_limits limits = usual, std::string_view input = {}) {
  const std::atomic<bool> stopping{false};
  limited_child child(stopping);
  std::string problem = child.start("/bin/sh", {"-c", script}, limits);
  if (problem.empty()) problem = child.write(input);
  if (problem.empty()) problem = child.finish();
  return {problem, child.output()};
}

}  // namespace

TEST_CASE("a_limited_child_reads_its_input_and_writes_its_output") {
  const ended_child done = run_shell("read line; echo got $line", usual, "a run\n");
  CHECK(done.problem.empty());
  CHECK(done.output == "got a run\n");
}

TEST_CASE("a_limited_child_has_no_variables_writes_no_file_and_opens_few") {
  CHECK(run_shell("set -- $HOME; echo $#; ulimit -n; ulimit -t").output == "0\n64\n30\n");
#if !defined(__SANITIZE_THREAD__)  // a program with this sanitizer writes a file (limited_child.cpp)
  CHECK(run_shell("ulimit -f").output == "0\n");
#endif
}

TEST_CASE("the_end_of_a_limited_child_is_reported_by_its_cause") {
  CHECK(run_shell("kill -XCPU $$").problem == "it takes more than 30 s of CPU time");
  CHECK(run_shell("kill -KILL $$").problem == "it ended by signal 9; it may use 256 MiB of memory");
  CHECK(run_shell("exit 3").problem == "it ended with status 3");
  CHECK(run_shell("echo 'a bad run' >&2; exit 2").problem == "a bad run");
  CHECK(run_shell("while :; do echo 0123456789012345678901234567890123456789; done").problem ==
        "it writes more than 1048576 bytes");
  CHECK(run_shell("sleep 20", {.max_memory_bytes = 256u << 20, .max_time = std::chrono::seconds(1)}).problem ==
        "it takes more than 1 s");
}

TEST_CASE("a_limited_child_that_cannot_start_gives_the_reason") {
  const std::atomic<bool> stopping{false};
  limited_child child(stopping);
  REQUIRE(child.start("/no/such/program", {}, usual).empty());
  CHECK(child.finish() == "its program cannot be started");
}

TEST_CASE("a_limited_child_ends_when_digd_stops") {
  std::atomic<bool> stopping{false};
  limited_child child(stopping);
  REQUIRE(child.start("/bin/sh", {"-c", "sleep 20"}, usual).empty());
  stopping = true;
  CHECK(child.finish() == "digd stops, or the run was deleted");
}

}  // namespace digd::daemon
