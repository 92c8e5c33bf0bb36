// When digd reduces load, and when it stops doing so; the limit on memory; and that digd does not delete a run as quiet
// if the run received something after it was chosen.
#include <catch2/catch.hpp>

#include <filesystem>
#include <fstream>

#include "base/unix_time.h"
#include "daemon/runs/engine_threads.h"
#include "daemon/runs/overload.h"
#include "daemon/runs/registry.h"
#include "daemon/runs/run_host.h"
#include "tests/archive/support.h"
#include "tests/daemon/one_engine_thread.h"

using namespace digd;
using namespace digd::daemon;
using strings = std::vector<std::string>;

namespace {

strings on(const overload_steps& steps) {
  strings texts;
  for (std::size_t i = 0; i < overload_action_count; ++i) {
    const auto action = static_cast<overload_action>(i);
    if (steps.asks_for(action)) texts.emplace_back(to_string(action));
  }
  return texts;
}

void write(const std::filesystem::path& file, const std::string& text) {
  std::filesystem::create_directories(file.parent_path());
  std::ofstream(file) << text << '\n';
}

}  // namespace

TEST_CASE("each_action_begins_at_its_share_of_the_limit_and_ends_five_points_below_it") {
  overload_steps steps;
  const overload_settings settings;  // 85, 90, 95, 98
  const auto at = [&](std::uint64_t used) {
    steps.update(used, 1'000, settings);
    return on(steps);
  };
  CHECK(at(849) == strings{});
  CHECK(at(850) == strings{"no_new_runs"});
  CHECK(at(949) == strings{"no_new_runs", "shrink_credits"});
  CHECK(at(980) == strings{"no_new_runs", "shrink_credits", "observe", "refuse"});
  CHECK(at(930) == strings{"no_new_runs", "shrink_credits", "observe", "refuse"});
  CHECK(at(929) == strings{"no_new_runs", "shrink_credits", "observe"});
  CHECK(at(899) == strings{"no_new_runs", "shrink_credits"});
  CHECK(at(849) == strings{"no_new_runs"});
  CHECK(at(799) == strings{});
  CHECK(at(849) == strings{});  // and does not begin again before its share
}

TEST_CASE("without_a_limit_nothing_is_taken_off_and_an_action_at_0_never") {
  overload_steps steps;
  steps.update(~std::uint64_t{0}, 0, {});
  CHECK(on(steps) == strings{});
  overload_settings settings;
  settings.no_new_runs = settings.refuse = 0;
  steps.update(~std::uint64_t{0}, 1, settings);
  CHECK(on(steps) == strings{"shrink_credits", "observe"});
  steps.update(5, 0, settings);  // the limit was taken away
  CHECK(on(steps) == strings{});
}

TEST_CASE("the_limit_on_memory_is_the_least_of_the_cgroups_that_the_process_is_in_or_the_machines") {
  const archive::testing::temporary_folder folder;
  const std::filesystem::path root = std::filesystem::path(folder.file()).parent_path() / "root";
  const std::uint64_t machine = memory_limit(root.string());
  CHECK(machine > 0);
  write(root / "proc/self/cgroup", "0::/system.slice/digd.service");
  CHECK(memory_limit(root.string()) == machine);
  write(root / "sys/fs/cgroup/system.slice/digd.service/memory.max", "max");
  CHECK(memory_limit(root.string()) == machine);
  write(root / "sys/fs/cgroup/system.slice/memory.max", "5000");
  CHECK(memory_limit(root.string()) == 5'000);
  write(root / "sys/fs/cgroup/system.slice/digd.service/memory.max", "4000");
  CHECK(memory_limit(root.string()) == 4'000);
  write(root / "sys/fs/cgroup/system.slice/digd.service/memory.high", "3000");
  CHECK(memory_limit(root.string()) == 3'000);
}

TEST_CASE("a_run_that_was_heard_of_after_it_was_chosen_as_quiet_is_not_deleted") {
  one_engine_thread daemon;
  engine_thread& thread = daemon.threads.front();
  join_request request;
  request.greeting.protocol = 1;
  request.greeting.run = "r1";
  request.home = &thread;
  const milliseconds chosen = unix_ms();
  thread.runs().join(std::move(request));
  thread.context().poll();  // no client is left: the session slot is released
  const auto host = thread.runs().find(1);
  REQUIRE(host);
  REQUIRE_FALSE(host->has_connections());
  using result = registry::removal::result;
  CHECK(thread.runs().remove_unused("r1", 1, std::nullopt) == result::busy);  // it has not ended
  CHECK(thread.runs().remove_unused("r1", 1, chosen) == result::busy);        // it said hello meanwhile
  CHECK(thread.runs().remove_unused("r1", 1, host->last_heard_ms() + 1) == result::removed);
  CHECK_FALSE(thread.runs().find(1));
}
