// One client that keeps reading the archive leaves a reader, and a place to wait, to the others.
#include "daemon/api/read_pool.h"

#include <atomic>
#include <catch2/catch.hpp>
#include <future>
#include <memory>
#include <stdexcept>
#include <thread>
#include <vector>

#include "archive/archive.h"
#include "tests/archive/support.h"

namespace {

using namespace digd::daemon;
namespace archive = digd::archive;

struct pool_of_archive {
  pool_of_archive() {
    archive::options options;
    options.path = folder.file();
    store = std::move(*archive::archive::open(options, {}));
    pool = std::make_unique<read_pool>(folder.file());
  }
  ~pool_of_archive() {
    release.set_value();
    pool.reset();
  }

  // A request that does not end before the test does.
  bool block(const std::string& client) {
    return pool->submit(
        client,
        [this](archive::browser&) {
          running.fetch_add(1);
          released.wait();
          return respond_text("ok");
        },
        [](http_response&&) {});
  }
  // Whether a short request gets its answer.
  bool is_served(const std::string& client) {
    auto answered = std::make_shared<std::promise<void>>();
    auto done = answered->get_future();
    return pool->submit(
               client, [](archive::browser&) { return respond_text("ok"); },
               [answered](http_response&&) { answered->set_value(); }) &&
           done.wait_for(std::chrono::seconds(20)) == std::future_status::ready;
  }

  archive::testing::temporary_folder folder;
  std::unique_ptr<archive::archive> store;
  std::unique_ptr<read_pool> pool;
  std::promise<void> release;
  std::shared_future<void> released = release.get_future().share();
  std::atomic<std::size_t> running{0};
};

}  // namespace

TEST_CASE("a_client_with_long_requests_leaves_a_reader_to_the_others") {
  pool_of_archive archive;
  for (std::size_t i = 0; i < 10; ++i) CHECK(archive.block("greedy"));
  CHECK(archive.is_served("other"));
  CHECK(archive.is_served("third"));
  CHECK(archive.running <= read_pool::max_running_of_client);
}

TEST_CASE("a_client_that_fills_its_queue_is_refused_and_the_others_are_not") {
  pool_of_archive archive;
  std::size_t taken = 0;
  while (archive.block("greedy")) ++taken;
  CHECK(taken >= read_pool::max_waiting_of_client);
  CHECK(taken <= read_pool::max_waiting_of_client + read_pool::max_running_of_client);
  CHECK(archive.pool->refused() == 1);
  CHECK(archive.is_served("other"));
}

TEST_CASE("requests_that_wait_when_the_pool_stops_are_dropped") {
  pool_of_archive archive;
  for (std::size_t i = 0; i < 10; ++i) CHECK(archive.block("greedy"));
  auto waits = std::make_shared<int>(0);
  const std::weak_ptr<int> seen = waits;
  const auto work = [waits](archive::browser&) { return respond_text("ok"); };
  CHECK(archive.pool->submit("greedy", work, [](http_response&&) {}));
  waits.reset();
  std::thread stops([&] { archive.pool->stop(); });
  archive.release.set_value();
  archive.release = {};
  stops.join();
  CHECK(seen.use_count() == 1);  // what `work` holds
  CHECK(archive.pool->waiting() == 0);
  CHECK_FALSE(archive.block("greedy"));
  CHECK(archive.pool->refused() == 0);  // too many do not wait
}

TEST_CASE("an_answer_that_cannot_be_made_ends_no_reader") {
  pool_of_archive archive;
  for (std::size_t i = 0; i < 2 * read_pool::threads; ++i) {
    archive.pool->submit(
        "client", [](archive::browser&) { return respond_text("ok"); },
        [](http_response&&) { throw std::runtime_error("out of memory"); });
  }
  CHECK(archive.is_served("client"));
}
