// When digd reduces load, and when it stops doing so; the limit on memory; and that digd does not delete a run as quiet
// if the run received something after it was chosen.
#include <catch2/catch.hpp>

#include <filesystem>
#include <fstream>

#include "base/unix_time.h"
#include "daemon/access/authorizer.h"
#include "daemon/access/memory_budget.h"
#include "daemon/runs/engine_threads.h"
#include "daemon/runs/overload.h"
#include "daemon/runs/registry.h"
#include "daemon/runs/run_host.h"
#include "tests/archive/support.h"
#include "tests/daemon/joining_client.h"
#include "tests/daemon/one_engine_thread.h"

using namespace digd;
using namespace digd::daemon;
using strings = std::vector<std::string>;

namespace {

strings on(const overload_steps& steps) {
  strings texts;
  for (std::size_t i = 0; i < overload_action_count; ++i) {
    const auto action = static_cast<overload_action>(i);
    if (steps.requests(action)) texts.emplace_back(to_string(action));
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

// ---- shedding load

namespace {

// Two threads with one run each; digd uses more memory than it may.
struct overloaded_daemon {
  one_engine_thread engine{nullptr, 2};
  memory_budget memory;
  authorizer tokens;
  overload watches{engine.live, "", engine.threads, tokens, engine.overload, memory};

  overloaded_daemon() {
    engine.settings.overload.memory_bytes = 1;
    engine.live.change(engine.settings);
  }

  std::shared_ptr<run_host> open(std::size_t thread, std::uint64_t events) {
    std::string name = "r";
    while (&engine.threads.owner_of(name) != &engine.threads[thread]) name += "r";
    const auto client = greet(engine.threads[thread], name);
    REQUIRE(client->results.size() == 1);
    const join_result& joined = client->results[0];
    for (std::uint64_t seq = 1; seq <= events; ++seq) {
      const std::string number = std::to_string(seq);
      joined.host->receive(
          joined.slot,
          R"({"type":"event","seq":)" + number + R"(,"event":{"id":"e)" + number + R"(","recipients":["a"]}})",
          std::chrono::steady_clock::now());
    }
    clients.push_back(client);
    return joined.host;
  }
  void check() {
    watches.check();
    for (int round = 0; round < 3; ++round) {
      for (const auto& thread : engine.threads) {
        thread->context().restart();
        thread->context().poll();
      }
    }
  }

  std::vector<std::shared_ptr<joining_client>> clients;
};

}  // namespace

TEST_CASE("the_heaviest_run_of_the_daemon_is_shed_before_a_run_on_another_thread") {
  overloaded_daemon daemon;
  const auto heavy = daemon.open(0, 50), light = daemon.open(1, 5);
  daemon.check();
  CHECK(heavy->inbox().run().unjudged() == limit_id::overload);
  CHECK_FALSE(light->inbox().run().unjudged());
  daemon.check();  // it is the heaviest now
  CHECK(light->inbox().run().unjudged() == limit_id::overload);
}

TEST_CASE("runs_of_about_the_same_weight_are_shed_together") {
  overloaded_daemon daemon;
  const auto first = daemon.open(0, 50), second = daemon.open(1, 40);
  daemon.check();
  CHECK(first->inbox().run().unjudged() == limit_id::overload);
  CHECK(second->inbox().run().unjudged() == limit_id::overload);
}

TEST_CASE("an_action_begins_for_the_heavy_tokens_and_for_all_when_the_next_one_does") {
  overload_settings settings;  // 85, 90, 95, 98
  overload_settings effective = settings_for_all(settings);
  CHECK((effective.no_new_runs == 90 && effective.shrink_credits == 95 && effective.refuse == 100));
  settings.shrink_credits = 0;
  effective = settings_for_all(settings);
  CHECK((effective.no_new_runs == 95 && effective.shrink_credits == 0 && effective.refuse == 100));
  settings.observe = settings.refuse = 0;
  effective = settings_for_all(settings);
  CHECK((effective.no_new_runs == 100 && effective.refuse == 0));
}

// ---- bytes of tokens in the archive

TEST_CASE("a_token_is_full_beyond_its_limit_and_not_at_it") {
  const byte_limits limits{{"at", 1'000}, {"beyond", 1'000}, {"without_runs", 1'000}};
  const archive_weights weights{{"", 5'000}, {"at", 1'000}, {"beyond", 1'001}, {"unlimited", 5'000}};
  CHECK(tokens_over(limits, weights) == std::set<std::string>{"beyond"});
  CHECK(tokens_over({}, weights).empty());
  CHECK(tokens_over(limits, {}).empty());
}

namespace {

void store_run_of(archive::producer& to, std::uint64_t number, const std::string& token) {
  archive::entry opening = archive::testing::opening(number, "r" + std::to_string(number));
  opening.token = token;
  archive::testing::push(to, std::move(opening));
  archive::entry message = archive::testing::message(number, 1);
  message.frame.append(2'000, ' ');
  archive::testing::push(to, std::move(message));
}

// Two tokens with a run each in the archive; one may have `max_bytes` there.
token_table two_tokens(const std::string& max_bytes) {
  const auto entry = [](const std::string& name, char digit, const std::string& more) {
    return "[[token]]\nname = \"" + name + "\"\nsha256 = \"" + std::string(64, digit) + "\"\nrights = [\"ingest\"]\n" +
           more + "\n";
  };
  token_table made;
  REQUIRE(token_table::parse(entry("limited", '1', max_bytes) + entry("other", '2', ""), "tokens.toml", made).empty());
  return made;
}

}  // namespace

TEST_CASE("the_archive_tells_at_the_start_which_token_is_full_and_a_changed_limit_holds_at_the_next_check") {
  const archive::testing::temporary_folder folder;
  archive::testing::reports durable;
  const auto store = archive::testing::open_archive(archive::options{.path = folder.file()}, durable);
  const auto to = store->make_producer();
  store_run_of(*to, 1, "limited");
  store_run_of(*to, 2, "other");
  REQUIRE((durable.wait_for_durable(1, 1) && durable.wait_for_durable(2, 1)));
  one_engine_thread engine;
  memory_budget memory;
  authorizer tokens;
  tokens.set_tokens(two_tokens("max_bytes = 1000"));
  overload watches(engine.live, folder.file(), engine.threads, tokens, engine.overload, memory);
  CHECK_FALSE(engine.overload.is_full("limited"));
  watches.check();
  CHECK(engine.overload.is_full("limited"));
  CHECK_FALSE(engine.overload.is_full("other"));
  CHECK_FALSE(engine.overload.is_full(""));
  CHECK(engine.overload.full_changes() == 1);
  watches.check();
  CHECK(engine.overload.full_changes() == 1);
  tokens.set_tokens(two_tokens("max_bytes = 1000000"));
  watches.check();
  CHECK_FALSE(engine.overload.is_full("limited"));
  tokens.set_tokens(two_tokens("max_bytes = 1000"));
  watches.check();
  CHECK(engine.overload.is_full("limited"));
  tokens.set_tokens(two_tokens(""));
  watches.check();
  CHECK_FALSE(engine.overload.is_full("limited"));
  CHECK(engine.overload.full_changes() == 4);
}
