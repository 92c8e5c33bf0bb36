// digd drops a hello that waits for its run when the client leaves.
#include <catch2/catch.hpp>
#include <functional>
#include <thread>

#include "archive/archive.h"
#include "tests/archive/support.h"
#include "tests/daemon/joining_client.h"
#include "tests/daemon/one_engine_thread.h"
#include "tests/daemon/repeat_until.h"

namespace digd::daemon {

namespace {

// Searches its archive for the run of each hello. The thread's loop runs only in `wait_until`.
struct searching_daemon {
  archive::testing::temporary_folder folder;
  one_engine_thread engine{open()};

  std::unique_ptr<archive::archive> open() const {
    archive::options options;
    options.path = folder.file();
    return std::move(*archive::archive::open(options, {}));
  }
  registry& runs() { return engine.threads.front().runs(); }

  std::shared_ptr<joining_client> join(const std::string& run, const std::string& session) {
    return send_hello(engine.threads.front(), run, session);
  }
  void wait_until(const std::function<bool()>& is_done) {
    repeat_until(is_done, [&] {
      engine.threads.front().context().restart();
      engine.threads.front().context().poll();
      std::this_thread::yield();
    });
  }
};

}  // namespace

TEST_CASE("a_client_that_leaves_while_its_run_is_searched_opens_no_run", "[registry]") {
  searching_daemon daemon;
  const auto gone = daemon.join("r1", "a");
  daemon.runs().withdraw("r1", gone);
  CHECK(gone.use_count() == 1);
  daemon.wait_until([&] { return !daemon.runs().is_being_read("r1"); });
  CHECK(gone->results.empty());
  CHECK(daemon.runs().find("r1") == nullptr);
  CHECK(daemon.engine.counts.open == 0);
}

TEST_CASE("other_clients_that_wait_for_the_run_still_join_it", "[registry]") {
  searching_daemon daemon;
  const auto gone = daemon.join("r1", "a"), stays = daemon.join("r1", "b");
  daemon.runs().withdraw("r1", gone);
  daemon.wait_until([&] { return !stays->results.empty(); });
  CHECK_FALSE(stays->results.front().refused);
  CHECK(gone->results.empty());
}

TEST_CASE("the_withdrawal_of_a_hello_that_does_not_wait_changes_nothing", "[registry]") {
  searching_daemon daemon;
  daemon.runs().withdraw("r1", std::make_shared<joining_client>());
  const auto client = daemon.join("r1", "a");
  daemon.wait_until([&] { return !client->results.empty(); });
  daemon.runs().withdraw("r1", client);
  CHECK(daemon.runs().find("r1") != nullptr);
}

}  // namespace digd::daemon
