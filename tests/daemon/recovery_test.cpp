// Recovery beside new work: the runs of the archive are read back one by one, on a thread that the test does not wait
// for. The test itself runs the loop of the engine thread, so nothing is recovered before it does.
#include <catch2/catch.hpp>

#include <optional>
#include <thread>

#include "daemon/api/health.h"
#include "daemon/runs/recovery.h"
#include "daemon/runs/run_host.h"
#include "tests/archive/support.h"
#include "tests/daemon/joining_client.h"
#include "tests/daemon/one_engine_thread.h"
#include "tests/daemon/repeat_until.h"

namespace digd::daemon {
namespace {

using archive::testing::temporary_folder;

std::unique_ptr<archive::archive> open(const std::string& path) {
  auto opened = archive::archive::open({.path = path}, {});
  REQUIRE(opened.has_value());
  return std::move(*opened);
}

void store_run(archive::producer& to, std::uint64_t number, const std::string& name, std::uint64_t messages) {
  archive::testing::push(to, archive::testing::opening(number, name));
  for (std::uint64_t seq = 1; seq <= messages; ++seq)
    archive::testing::push(to, archive::testing::message(number, seq));
}

constexpr std::uint64_t ended_number = 4;

// Three open runs, of which the last cannot be read, and one that has ended.
std::unique_ptr<archive::archive> stored(const std::string& path) {
  {
    const auto before = open(path);
    const auto to = before->make_producer();
    store_run(*to, 1, "a", 3);
    store_run(*to, 2, "b", 5);
    archive::testing::push(*to, archive::testing::opening(3, "damaged"));
    archive::testing::push(*to, archive::testing::message(3, 7));
    store_run(*to, ended_number, "ended", 1);
    archive::entry end = archive::testing::message(ended_number, 2);
    end.type = "run_ended";
    end.frame = R"({"type":"run_ended","seq":2,"outcome":"success"})";
    end.ended = "success";
    archive::testing::push(*to, std::move(end));
    before->stop();
  }
  return open(path);
}

struct restarted_daemon {
  temporary_folder folder;
  one_engine_thread engine{stored(folder.file())};
  std::atomic<phase> now{phase::serving};
  const readiness_sources sources{.phase = now,
                                  .archive = engine.archive,
                                  .threads = engine.threads,
                                  .overload = engine.overload,
                                  .runs = engine.counts};

  restarted_daemon() { plan_recovery(*engine.archive, engine.threads); }

  engine_thread& thread() { return engine.threads.front(); }
  registry& runs() { return thread().runs(); }

  std::string readiness_text() {
    std::string text;
    for (const reason& r : readiness_problems(sources)) text += r.code + ": " + r.message + "\n";
    return text;
  }
  std::shared_ptr<joining_client> greet(const std::string& run) { return daemon::greet(thread(), run); }
  // Runs the loop, one handler after another, until `is_done`.
  template <class IsDone>
  void run_until(IsDone is_done) {
    repeat_until(is_done, [&] {
      thread().context().restart();
      thread().context().poll_one();
    });
  }
  // Of a run for which the archive need not be searched.
  registry::removal::result remove_loaded(const std::string& run) {
    std::optional<registry::removal::result> outcome;
    runs().remove(run, [&](const registry::removal& removed) { outcome = removed.outcome; });
    REQUIRE(outcome);
    return *outcome;
  }
  // Runs the loop until so many runs are read back.
  void recover(std::uint64_t count) {
    run_until([&] { return engine.counts.recovery.done.load() >= count; });
    thread().context().restart();
    thread().context().poll();
  }
};

TEST_CASE("a_new_run_opens_while_others_are_read_back", "[daemon]") {
  restarted_daemon daemon;
  CHECK(daemon.readiness_text() == "recovering: recovering: 0 of 3 runs\n");
  const auto fresh = daemon.greet("new");
  daemon.run_until([&] { return fresh->results.size() == 1; });
  CHECK_FALSE(fresh->results[0].refused);
  CHECK(fresh->results[0].acked_seq == 0);
  begin_recovery(daemon.engine.threads);
  daemon.recover(3);
  CHECK(daemon.readiness_text().empty());
}

TEST_CASE("a_hello_waits_until_its_run_is_read_back", "[daemon]") {
  restarted_daemon daemon;
  const auto client = daemon.greet("b");
  CHECK(client->results.empty());
  CHECK(daemon.runs().is_being_read("b"));
  begin_recovery(daemon.engine.threads);
  daemon.recover(3);
  REQUIRE(client->results.size() == 1);
  CHECK_FALSE(client->results[0].refused);
  CHECK(client->results[0].acked_seq == 5);
}

TEST_CASE("the_run_that_a_client_waits_for_is_read_back_first", "[daemon]") {
  restarted_daemon daemon;
  const auto client = daemon.greet("b");
  begin_recovery(daemon.engine.threads);
  daemon.run_until([&] { return daemon.runs().find("b") != nullptr; });
  CHECK_FALSE(daemon.runs().find("a"));
  daemon.recover(3);
  CHECK(client->results.size() == 1);
  CHECK(daemon.runs().find("a"));
}

TEST_CASE("a_run_that_cannot_be_read_holds_up_no_other", "[daemon]") {
  restarted_daemon daemon;
  const auto damaged = daemon.greet("damaged");
  begin_recovery(daemon.engine.threads);
  daemon.recover(3);
  REQUIRE(damaged->results.size() == 1);
  CHECK(damaged->results[0].refused.code == refusal::over_limit);
  CHECK(daemon.engine.counts.recovery.failed == 1);
  CHECK(daemon.engine.counts.open == 2);
  CHECK(daemon.greet("a")->results.size() == 1);
}

TEST_CASE("an_ended_run_that_is_not_in_memory_is_found_in_the_archive", "[daemon]") {
  restarted_daemon daemon;
  CHECK_FALSE(daemon.runs().find("ended"));
  CHECK_FALSE(daemon.runs().is_being_read("ended"));
  const auto client = daemon.greet("ended");
  const auto other = daemon.greet("ended");  // waits with the first
  daemon.run_until([&] { return client->results.size() + other->results.size() == 2; });
  CHECK(client->results[0].acked_seq == 2);
  CHECK(other->results[0].acked_seq == 2);
  REQUIRE(daemon.runs().find("ended"));
  CHECK(daemon.runs().find("ended")->number() == ended_number);
}

TEST_CASE("the_name_of_a_deleted_run_is_free_before_its_rows_are_gone", "[daemon]") {
  restarted_daemon daemon;
  std::vector<registry::removal> removed;
  const auto keep = [&](const registry::removal& removal) { removed.push_back(removal); };
  for (const char* name : {"ended", "ended", "unknown"}) {
    const std::size_t before = removed.size();
    daemon.runs().remove(name, keep);
    daemon.run_until([&] { return removed.size() > before; });
  }
  using result = registry::removal::result;
  CHECK(removed[0].outcome == result::removed);
  CHECK(removed[0].number == ended_number);
  CHECK(removed[1].outcome == result::unknown);
  CHECK(removed[2].outcome == result::unknown);
  const auto client = daemon.greet("ended");
  daemon.run_until([&] { return client->results.size() == 1; });
  CHECK(client->results[0].acked_seq == 0);
  REQUIRE(daemon.runs().find("ended"));
  CHECK(daemon.runs().find("ended")->number() > ended_number);
}

TEST_CASE("a_run_that_retention_deletes_is_not_found_by_its_name", "[daemon]") {
  restarted_daemon daemon;
  CHECK(daemon.runs().remove_unused("ended", ended_number, std::nullopt) == registry::removal::result::removed);
  const auto client = daemon.greet("ended");
  daemon.run_until([&] { return client->results.size() == 1; });
  CHECK(client->results[0].acked_seq == 0);
}

TEST_CASE("runs_that_are_still_read_back_count_as_open_and_cannot_be_deleted", "[daemon]") {
  restarted_daemon daemon;
  CHECK(daemon.engine.counts.open == 3);
  CHECK(daemon.remove_loaded("a") == registry::removal::result::busy);
  CHECK(daemon.runs().remove_unused("a", 1, std::nullopt) == registry::removal::result::busy);
  begin_recovery(daemon.engine.threads);
  daemon.recover(3);
  CHECK(daemon.engine.counts.open == 2);
  CHECK(daemon.remove_loaded("a") == registry::removal::result::removed);
}

TEST_CASE("hellos_that_wait_for_a_run_are_limited", "[daemon]") {
  restarted_daemon daemon;
  std::vector<std::shared_ptr<joining_client>> clients;
  for (std::size_t i = 0; i < registry::max_waiting; ++i) clients.push_back(daemon.greet("a"));
  const auto refused = daemon.greet("a");
  REQUIRE(refused->results.size() == 1);
  CHECK(refused->results[0].refused.code == refusal::over_limit);
  clients.pop_back();  // one disconnects
  const auto next = daemon.greet("a");
  CHECK(next->results.empty());
  begin_recovery(daemon.engine.threads);
  daemon.recover(3);
  CHECK(next->results.size() == 1);
  CHECK(clients.front()->results.size() == 1);
}

TEST_CASE("a_daemon_that_stops_ends_recovery", "[daemon]") {
  restarted_daemon daemon;
  daemon.engine.counts.recovery.stopping = true;
  begin_recovery(daemon.engine.threads);
  daemon.thread().context().poll();
  daemon.engine.rebuilder.join();
  daemon.thread().context().restart();
  daemon.thread().context().poll();
  CHECK(daemon.engine.counts.recovery.done == 0);
}

}  // namespace
}  // namespace digd::daemon
