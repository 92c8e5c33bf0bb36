// The publisher with a stream that is a model: what it publishes of deleted runs, and how it replaces connections.
#include "daemon/fleet/publisher.h"

#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <condition_variable>
#include <mutex>

#include "tests/daemon/fleet_folder.h"

namespace digd::daemon {
namespace {

// Shared by all connections of a test.
struct stream_model {
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<std::string> ids;
  int connections = 0;
  bool is_closed = false, fails = false;

  void wait_until(const std::function<bool()>& condition) {
    std::unique_lock lock(mutex);
    REQUIRE(changed.wait_for(lock, std::chrono::seconds(20), condition));
  }
  bool has(const std::string& end) const {
    return std::any_of(ids.begin(), ids.end(), [&](const std::string& id) { return id.ends_with(end); });
  }
};

class modelled_stream final : public stream {
 public:
  explicit modelled_stream(stream_model& model) : model_(model) {}
  bool is_closed() const override {
    const std::lock_guard lock(model_.mutex);
    return model_.is_closed;
  }
  std::string publish(std::span<const stream_message> messages, const std::function<bool()>&) override {
    const std::lock_guard lock(model_.mutex);
    if (model_.fails) return "refused";
    for (const stream_message& message : messages) model_.ids.push_back(message.id);
    model_.changed.notify_all();
    return {};
  }
  std::string publish_marker(const stream_message&, std::uint64_t&) override { return {}; }
  std::string read_bounds(stream_bounds&) override { return {}; }
  std::string scan(std::uint64_t, std::uint64_t, const scan_handler&) override { return {}; }
  std::size_t max_message_bytes() const override { return 1'000'000; }
  void announce(std::string_view, bool) override {}

 private:
  stream_model& model_;
};

// Waits until the publisher has found nothing to publish twice: the second round began after this call.
void wait_idle(publisher& publishes) {
  const std::uint64_t rounds = publishes.empty_rounds();
  while (publishes.empty_rounds() < rounds + 2) {
    publishes.wake();
    std::this_thread::yield();
  }
}

fleet_settings publishing() {
  fleet_settings fleet;
  fleet.servers = {"nats://h"};
  fleet.host = "h1";
  return fleet;
}

struct publishing_daemon {
  explicit publishing_daemon(const fleet_folder& folder)
      : in(folder),
        runs(folder),
        publishes(publishing(), folder.file("digd.sqlite"), folder.file("fleet.db"),
                  [this](const fleet_settings&, std::string&) {
                    const std::lock_guard lock(model.mutex);
                    ++model.connections;
                    model.is_closed = false;
                    model.changed.notify_all();
                    return std::make_unique<modelled_stream>(model);
                  }) {
    REQUIRE(publishes.prepare().empty());
    REQUIRE_FALSE(homes.open(in.file("homes.db"), publishes.archive_name()));
    publishes.serve_homes(homes, {});
  }
  ~publishing_daemon() { publishes.stop(); }

  void wait_until(const std::function<bool()>& condition) { model.wait_until(condition); }

  const fleet_folder& in;
  stream_model model;
  fleet_archive runs;
  home_store homes;
  publisher publishes;
};

}  // namespace

TEST_CASE("a_retried_deletion_of_a_copy_does_not_delete_the_run_that_moved") {
  const fleet_folder folder;
  publishing_daemon daemon(folder);
  daemon.homes.note_moved(1);
  daemon.homes.note_moved(2);
  REQUIRE_FALSE(daemon.homes.save_moved());
  folder.execute("homes.db",
                 "CREATE TRIGGER second BEFORE DELETE ON moved WHEN OLD.number = 2"
                 " BEGIN SELECT RAISE(ABORT, 'refused'); END");
  for (const std::uint64_t run : {1, 2, 3}) daemon.publishes.forget(run);
  REQUIRE(daemon.publishes.start().empty());
  while (daemon.publishes.problem().empty()) std::this_thread::yield();
  folder.execute("homes.db", "DROP TRIGGER second");
  wait_idle(daemon.publishes);
  const std::lock_guard lock(daemon.model.mutex);
  CHECK(daemon.model.has(":deleted:3"));
  CHECK_FALSE(daemon.model.has(":deleted:1"));
  CHECK_FALSE(daemon.model.has(":deleted:2"));
}

TEST_CASE("a_deletion_that_the_publisher_found_by_itself_is_not_published_again") {
  const fleet_folder folder;
  publishing_daemon daemon(folder);
  const std::uint64_t run = daemon.runs.open_run("r");
  REQUIRE(daemon.publishes.start().empty());
  daemon.wait_until([&] { return !daemon.model.ids.empty(); });
  wait_idle(daemon.publishes);
  daemon.publishes.stop();
  // The run moved, and then an earlier process began to delete the copy.
  folder.execute("digd.sqlite", "UPDATE runs SET deleting = 1");
  daemon.homes.note_moved(run);
  publisher again(publishing(), folder.file("digd.sqlite"), folder.file("fleet.db"),
                  [&](const fleet_settings&, std::string&) { return std::make_unique<modelled_stream>(daemon.model); });
  again.serve_homes(daemon.homes, {});
  REQUIRE(again.start().empty());
  wait_idle(again);
  CHECK_FALSE(daemon.homes.has_moved(run));
  again.forget(run);
  wait_idle(again);
  again.stop();
  CHECK_FALSE(daemon.model.has(":deleted:" + std::to_string(run)));
}

TEST_CASE("the_removal_of_a_copy_that_was_never_whole_is_not_published") {
  const fleet_folder folder;
  publishing_daemon daemon(folder);
  REQUIRE_FALSE(daemon.homes.begin_adoption({{.number = 4, .epoch = 2, .origin_archive = "b", .origin_number = 9}}));
  daemon.publishes.forget(4);
  REQUIRE(daemon.publishes.start().empty());
  wait_idle(daemon.publishes);
  const std::lock_guard lock(daemon.model.mutex);
  CHECK(daemon.model.ids.empty());
}

TEST_CASE("a_connection_that_has_ended_for_good_is_replaced_and_counted") {
  const fleet_folder folder;
  publishing_daemon daemon(folder);
  REQUIRE(daemon.publishes.start().empty());
  wait_idle(daemon.publishes);
  {
    const std::lock_guard lock(daemon.model.mutex);
    daemon.model.is_closed = true;
  }
  daemon.publishes.wake();
  daemon.wait_until([&] { return daemon.model.connections == 2; });
  CHECK(daemon.publishes.counted().reconnects.load() == 1);
  daemon.runs.open_run("r");
  daemon.publishes.wake();
  daemon.wait_until([&] { return !daemon.model.ids.empty(); });
}

}  // namespace digd::daemon
