// What an engine thread hands to the archive: batches, and a backlog while the archive's queue is full.
#include "daemon/runs/archiver.h"

#include <boost/asio/io_context.hpp>
#include <catch2/catch.hpp>
#include <thread>

#include "archive/sqlite.h"
#include "tests/archive/support.h"
#include "tests/daemon/repeat_until.h"

namespace digd::daemon {

namespace {

using namespace archive::testing;

struct archived_run {
  explicit archived_run(std::size_t queue_entries = 65'536) {
    archive::options options;
    options.path = folder.file();
    options.max_queued_entries = queue_entries;
    stored = open_archive(options, seen);
    records.emplace(context, stored->make_producer(), [this] { ++relieved; });
    records->push(boxed(opening(1)));
  }

  void push(std::uint64_t seq, std::size_t bytes = 100) {
    frame = archive::testing::message(1, seq).frame + std::string(bytes, ' ');
    records->push({.run_number = 1,
                   .seq = seq,
                   .n = seq + 1,
                   .ts = static_cast<std::int64_t>(seq),
                   .session = "main",
                   .type = "time",
                   .frame = frame});
  }
  void push_with_row(std::uint64_t seq) {
    archive::entry_ptr entry = boxed(archive::testing::message(1, seq));
    entry->outcomes.push_back({.rule = "rule", .outcome = "resolved"});
    records->push(std::move(entry));
  }

  temporary_folder folder;
  reports seen;
  std::unique_ptr<archive::archive> stored;
  boost::asio::io_context context;
  std::optional<archiver> records;
  std::string frame;
  int relieved = 0;
};

}  // namespace

TEST_CASE("entries_outside_a_batch_go_to_the_archive_at_once") {
  archived_run run;
  run.push(1);
  REQUIRE(run.seen.wait_for_durable(1, 1));
  run.push_with_row(2);
  REQUIRE(run.seen.wait_for_durable(1, 2));
  run.records->end_batch();  // there is none
  run.push(3);
  REQUIRE(run.seen.wait_for_durable(1, 3));
}

TEST_CASE("entries_of_a_batch_go_to_the_archive_in_order_at_its_end") {
  archived_run run;
  REQUIRE(run.seen.wait_for_durable(1, 0));
  repeat_until([&] { return run.stored->queued() == 0; }, [] { std::this_thread::yield(); });
  run.records->begin_batch();
  run.records->begin_batch();
  run.push(1);
  run.push(2);
  CHECK(run.stored->queued() == 0);
  run.push_with_row(3);  // ends a parcel
  REQUIRE(run.seen.wait_for_durable(1, 3));
  for (std::uint64_t seq = 4; seq <= 200; ++seq) run.push(seq);
  REQUIRE(run.seen.wait_for_durable(1, 100));  // full parcels do not wait for the end
  run.records->end_batch();
  REQUIRE(run.seen.wait_for_durable(1, 200));
  CHECK(is_without_gaps(entries_of(*run.stored, 1)));
  CHECK(run.records->delayed() == 0);
}

TEST_CASE("entries_wait_in_the_backlog_in_order_while_the_queue_is_full") {
  archived_run run(60);
  archive::connection holder;  // while it writes, the archive cannot
  REQUIRE_FALSE(holder.open(run.folder.file(), archive::open_mode::read_write, {}));
  REQUIRE_FALSE(holder.execute("BEGIN IMMEDIATE"));
  run.records->begin_batch();
  for (std::uint64_t seq = 1; seq <= 200; ++seq) run.push(seq);
  run.records->end_batch();
  run.push_with_row(201);
  CHECK(run.records->backlog() > 100);
  CHECK(run.records->backlog() + run.stored->queued() == 202);
  CHECK(run.records->delayed() == run.records->backlog());
  CHECK_FALSE(run.records->is_congested());

  const std::size_t large = 1u << 20;
  for (std::uint64_t seq = 202; seq <= 270; ++seq) run.push(seq, large);
  CHECK(run.records->is_congested());
  REQUIRE_FALSE(holder.execute("ROLLBACK"));
  bool is_empty = false;
  run.records->when_empty([&] { is_empty = true; });
  repeat_until([&] { return is_empty; },
               [&] {
                 run.context.restart();
                 run.context.poll();
                 std::this_thread::yield();
               });
  CHECK(run.relieved == 1);
  CHECK(run.records->backlog() == 0);
  CHECK_FALSE(run.records->is_congested());
  REQUIRE(run.seen.wait_for_durable(1, 270));
  CHECK(is_without_gaps(entries_of(*run.stored, 1)));
}

}  // namespace digd::daemon
