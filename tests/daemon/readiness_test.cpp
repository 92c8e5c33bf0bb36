// Causes every reason that /readyz gives for not being ready, and checks that a daemon at work is ready.
#include <catch2/catch.hpp>

#include "daemon/api/health.h"
#include "daemon/api/read_pool.h"
#include "daemon/feed/feed_server.h"
#include "daemon/runs/retention.h"
#include "tests/archive/faulty_disk.h"
#include "tests/archive/support.h"
#include "tests/daemon/one_engine_thread.h"
#include "tests/daemon/repeat_until.h"

namespace digd::daemon {

namespace {

using archive::testing::faulty_disk;
using archive::testing::temporary_folder;

std::vector<std::string> codes(const readiness_sources& from) {
  std::vector<std::string> texts;
  for (const reason& reason : readiness_problems(from)) {
    CHECK_FALSE(reason.message.empty());
    texts.push_back(reason.code);
  }
  return texts;
}

using expected = std::vector<std::string>;

// An archive on a disk that fails on demand, and an engine thread whose loop the test runs itself.
struct daemon_inside {
  faulty_disk disk;
  temporary_folder folder;
  one_engine_thread engine;
  std::atomic<phase> now{phase::serving};
  const readiness_sources sources{.phase = now,
                                  .archive = engine.archive,
                                  .threads = engine.threads,
                                  .overload = engine.overload,
                                  .runs = engine.counts};

  explicit daemon_inside(std::size_t queue_entries = 1'000) : engine(open(queue_entries)) {}

  std::unique_ptr<archive::archive> open(std::size_t queue_entries) {
    archive::options options;
    options.path = folder.file();
    options.vfs = disk.name();
    options.max_queued_entries = queue_entries;
    options.retry_ms = 1;
    options.max_retry_ms = 4;
    options.stop_ms = 0;
    auto opened = archive::archive::open(options, {});
    REQUIRE(opened.has_value());
    return std::move(*opened);
  }
  engine_thread& thread() { return engine.threads.front(); }

  static void wait_until(const std::function<bool()>& is_done) {
    repeat_until(is_done, [] { std::this_thread::yield(); });
  }
};

archive::entry refused_message(std::uint64_t seq, std::size_t bytes = 10) {
  archive::entry made = archive::testing::message(1, seq);
  made.frame = "\"" + std::string(bytes, 'x') + "\"";
  return made;
}

}  // namespace

TEST_CASE("a_daemon_at_work_is_ready", "[daemon]") {
  daemon_inside daemon;
  CHECK(codes(daemon.sources).empty());
  CHECK(readiness(daemon.sources).result_int() == 200);
}

TEST_CASE("it_is_not_ready_before_it_serves_or_when_it_stops", "[daemon]") {
  daemon_inside daemon;
  daemon.now = phase::starting;
  CHECK(codes(daemon.sources) == expected{"starting"});
  daemon.now = phase::stopping;
  CHECK(codes(daemon.sources) == expected{"stopping"});
  const http_response response = readiness(daemon.sources);
  CHECK(response.result_int() == 503);
  CHECK(response[boost::beast::http::field::retry_after] == "1");
  CHECK(response.body() ==
        "{\"ready\":false,\"reasons\":[{\"code\":\"stopping\",\"message\":\"digd is stopping\"}]}\n");
}

TEST_CASE("it_is_not_ready_while_the_archive_cannot_be_written", "[daemon]") {
  daemon_inside daemon;
  daemon.disk.fail_writes(SQLITE_FULL);
  daemon.thread().records().push(archive::testing::boxed(archive::testing::opening(1)));
  daemon.wait_until([&] { return codes(daemon.sources) == expected{"archive"}; });
  CHECK(readiness_problems(daemon.sources)[0].message.find("the disk is full") != std::string::npos);
  daemon.disk.work_again();
  daemon.wait_until([&] { return codes(daemon.sources).empty(); });
}

TEST_CASE("it_is_not_ready_while_the_archives_queue_is_nearly_full", "[daemon]") {
  daemon_inside daemon(100);
  daemon.disk.fail_writes(SQLITE_FULL);
  daemon.thread().records().push(archive::testing::boxed(archive::testing::opening(1)));
  for (std::uint64_t seq = 1; seq < 89; ++seq)
    daemon.thread().records().push(archive::testing::boxed(refused_message(seq)));
  daemon.wait_until([&] { return codes(daemon.sources) == expected{"archive"}; });
  daemon.thread().records().push(archive::testing::boxed(refused_message(89)));
  CHECK(codes(daemon.sources) == expected{"archive", "archive_queue"});
  daemon.disk.work_again();
  daemon.wait_until([&] { return codes(daemon.sources).empty(); });
}

TEST_CASE("it_is_not_ready_while_an_engine_thread_keeps_back_what_the_archive_cannot_take", "[daemon]") {
  daemon_inside daemon(100);
  daemon.disk.fail_writes(SQLITE_FULL);
  daemon.thread().records().push(archive::testing::boxed(archive::testing::opening(1)));
  for (std::uint64_t seq = 1; seq < 100; ++seq)
    daemon.thread().records().push(archive::testing::boxed(refused_message(seq)));
  daemon.wait_until([&] { return codes(daemon.sources) == expected{"archive", "archive_queue"}; });
  constexpr std::size_t large = archiver::max_backlog_bytes / 8;
  daemon.thread().records().push(archive::testing::boxed(refused_message(100, large)));
  CHECK(codes(daemon.sources) == expected{"archive", "archive_queue"});
  for (std::uint64_t seq = 101; seq <= 108; ++seq)
    daemon.thread().records().push(archive::testing::boxed(refused_message(seq, large)));
  CHECK(codes(daemon.sources) == expected{"archive", "archive_queue", "congested"});
  daemon.disk.work_again();
  daemon.wait_until([&] {  // the thread's timer moves its backlog on
    daemon.thread().context().restart();
    daemon.thread().context().poll();
    return codes(daemon.sources).empty();
  });
}

}  // namespace digd::daemon
