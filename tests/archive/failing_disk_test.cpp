#include "archive/browser.h"
#include "tests/archive/faulty_disk.h"
#include "tests/archive/support.h"

namespace digd::archive::testing {

namespace {

options on(const faulty_disk& disk, const temporary_folder& folder) {
  options options;
  options.path = folder.file();
  options.vfs = disk.name();
  options.retry_ms = 1;
  options.max_retry_ms = 8;
  return options;
}

}  // namespace

TEST_CASE("nothing_is_durable_while_the_disk_fails_and_everything_is_once_it_works", "[archive]") {
  auto [code, is_sync, words] = GENERATE(table<int, bool, std::string>({
      {SQLITE_FULL, false, "disk is full"},
      {SQLITE_IOERR_WRITE, false, "disk reports an error"},
      {SQLITE_READONLY, false, "cannot be written"},
      {SQLITE_IOERR_FSYNC, true, "disk reports an error"},
  }));
  temporary_folder folder;
  faulty_disk disk;
  disk.characteristics = GENERATE(SQLITE_IOCAP_POWERSAFE_OVERWRITE, 0);  // with 0, the archive gathers no writes
  reports seen;
  auto a = open_archive(on(disk, folder), seen);
  auto p = a->make_producer();
  push(*p, opening(1));
  push(*p, message(1, 1));
  REQUIRE(seen.wait_for_durable(1, 1));

  is_sync ? disk.fail_syncs(code) : disk.fail_writes(code);
  for (std::uint64_t seq = 2; seq <= 50; ++seq) push(*p, message(1, seq));
  REQUIRE(seen.wait_for_health(words));
  while (a->counted().failed_commits < 5) std::this_thread::yield();
  CHECK(seen.durable_seq(1) == 1);
  CHECK(a->queued() == 49);
  CHECK(entries_of(*a, 1).size() == 2);  // reads go on

  disk.work_again();
  REQUIRE(seen.wait_for_durable(1, 50));
  REQUIRE(seen.wait_for_health(""));
  CHECK(a->health().empty());
  auto entries = entries_of(*a, 1);
  REQUIRE(entries.size() == 51);
  CHECK(is_without_gaps(entries));
}

TEST_CASE("a_sync_that_does_not_return_is_reported_until_it_does", "[archive]") {
  temporary_folder folder;
  faulty_disk disk;
  reports seen;
  auto options = on(disk, folder);
  options.max_disk_ms = 20;
  auto a = open_archive(options, seen);
  auto p = a->make_producer();
  push(*p, opening(1));
  push(*p, message(1, 1));
  REQUIRE(seen.wait_for_durable(1, 1));

  disk.syncs_hang = true;
  push(*p, message(1, 2));
  const auto is_reported = [&] {  // on a slow machine the sync before may also take 20 ms
    const std::string health = a->health();
    return health.starts_with("the disk has not answered for ") && health.find("1 entries wait") != std::string::npos;
  };
  while (!is_reported()) std::this_thread::yield();
  CHECK(seen.durable_seq(1) == 1);

  disk.work_again();
  REQUIRE(seen.wait_for_durable(1, 2));
  while (!a->health().empty()) std::this_thread::yield();
}

TEST_CASE("an_entry_reported_durable_survives_a_power_cut", "[archive]") {
  temporary_folder folder;
  faulty_disk disk;
  disk.characteristics = GENERATE(SQLITE_IOCAP_POWERSAFE_OVERWRITE, 0);  // with 0, the archive gathers no writes
  std::vector<std::pair<std::string, std::uint64_t>> cuts;  // a copy, and the seqs that were reported durable by then
  auto options = on(disk, folder);
  options.max_batch_entries = 40;
  options.checkpoint_pages = 30;  // so that some cuts come shortly after a checkpoint
  auto opened = archive::open(options, [&](std::span<const durable> progress) {
    if (cuts.size() >= 25 || progress.empty()) return;  // a commit of the opening alone reports nothing
    auto copy = folder.file("cut-" + std::to_string(cuts.size()));
    disk.copy_after_power_cut(folder.file(), copy);
    cuts.emplace_back(copy, progress.front().seq);
  });
  REQUIRE(opened.has_value());
  auto p = (*opened)->make_producer();
  push(*p, opening(1));
  for (std::uint64_t seq = 1; seq <= 1500; ++seq) push(*p, message(1, seq));
  (*opened)->stop();
  REQUIRE(cuts.size() >= 20);
  for (const auto& [copy, promised] : cuts) {
    reports seen;
    auto a = open_archive(copy, seen);
    auto entries = entries_of(*a, 1);
    REQUIRE(entries.size() >= promised + 1);
    REQUIRE(is_without_gaps(entries));
  }
}

TEST_CASE("a_log_that_cannot_be_moved_is_reported_and_delays_no_entry", "[archive]") {
  temporary_folder folder;
  faulty_disk disk;
  reports seen;
  auto options = on(disk, folder);
  options.checkpoint_pages = 4;
  auto a = open_archive(options, seen);
  auto p = a->make_producer();
  disk.fail_writes(SQLITE_FULL, ".sqlite");  // the file itself; its log can be written
  push(*p, opening(1));
  for (std::uint64_t seq = 1; seq <= 300; ++seq) push(*p, message(1, seq));
  REQUIRE(seen.wait_for_durable(1, 300));
  REQUIRE(seen.wait_for_health("the log grows"));
  CHECK(a->counted().failed_checkpoints > 0);
  disk.work_again();
  for (std::uint64_t seq = 301; seq <= 2000; ++seq) push(*p, message(1, seq));
  REQUIRE(seen.wait_for_durable(1, 2000));
  REQUIRE(seen.wait_for_health(""));
}

TEST_CASE("another_programs_write_lock_is_waited_for", "[archive]") {
  temporary_folder folder;
  faulty_disk disk;
  reports seen;
  auto a = open_archive(on(disk, folder), seen);
  auto p = a->make_producer();
  connection other;
  REQUIRE_FALSE(other.open(folder.file(), open_mode::read_write, disk.name()));
  REQUIRE_FALSE(other.execute("BEGIN IMMEDIATE"));
  push(*p, opening(1));
  push(*p, message(1, 1));
  REQUIRE(seen.wait_for_health("another program"));
  CHECK(seen.durable_seq(1) == 0);
  REQUIRE_FALSE(other.execute("ROLLBACK"));
  REQUIRE(seen.wait_for_durable(1, 1));
}

TEST_CASE("nothing_is_durable_in_a_file_that_was_moved_away", "[archive]") {
  temporary_folder folder;
  reports seen;
  options options;
  options.path = folder.file();
  options.retry_ms = 1;
  options.max_retry_ms = 8;
  auto a = open_archive(options, seen);
  auto p = a->make_producer();
  push(*p, opening(1));
  push(*p, message(1, 1));
  REQUIRE(seen.wait_for_durable(1, 1));
  std::filesystem::rename(folder.file(), folder.file("elsewhere"));
  push(*p, message(1, 2));
  REQUIRE(seen.wait_for_health("moved or removed"));
  CHECK(seen.durable_seq(1) == 1);
  std::filesystem::rename(folder.file("elsewhere"), folder.file());
  REQUIRE(seen.wait_for_durable(1, 2));
}

TEST_CASE("stopping_gives_up_on_a_disk_that_stays_broken", "[archive]") {
  temporary_folder folder;
  faulty_disk disk;
  reports seen;
  auto options = on(disk, folder);
  options.stop_ms = 20;
  {
    auto a = open_archive(options, seen);
    auto p = a->make_producer();
    push(*p, opening(1));
    push(*p, message(1, 1));
    REQUIRE(seen.wait_for_durable(1, 1));
    disk.fail_writes(SQLITE_IOERR_WRITE);
    push(*p, message(1, 2));
    a->stop();
    CHECK(a->health().find("1 entries not written") != std::string::npos);
    CHECK(seen.durable_seq(1) == 1);
  }
  disk.work_again();
  auto a = open_archive(options, seen);
  CHECK(entries_of(*a, 1).size() == 2);
}

TEST_CASE("stopping_waits_for_a_disk_that_comes_back", "[archive]") {
  temporary_folder folder;
  faulty_disk disk;
  reports seen;
  auto a = open_archive(on(disk, folder), seen);
  auto p = a->make_producer();
  disk.fail_writes(SQLITE_FULL);
  push(*p, opening(1));
  push(*p, message(1, 1));
  REQUIRE(seen.wait_for_health("disk is full"));
  std::thread stopper([&] { a->stop(); });
  disk.work_again();
  stopper.join();
  CHECK(seen.durable_seq(1) == 1);
}

TEST_CASE("an_entry_too_large_to_store_is_shrunk_and_its_run_goes_on", "[archive]") {
  temporary_folder folder;
  reports seen;
  options small;
  small.path = folder.file();
  small.max_value_bytes = 1 << 20;
  auto a = open_archive(small, seen);
  auto p = a->make_producer();
  push(*p, opening(1));
  auto large = message(1, 1);
  large.verdicts = R"({"type":"verdicts","text":")" + std::string(2 << 20, 'x') + R"("})";
  large.detections.push_back({.rule = "deadlock", .severity = "failure", .json = std::string(2 << 20, 'x')});
  large.detections.push_back({.rule = "orphaned_event", .severity = "failure", .json = R"({"rule":"orphaned_event"})"});
  large.interventions.push_back({"sys:1", "create", {}, 0, std::string(2 << 20, 'x')});
  push(*p, large);
  push(*p, message(1, 2));
  REQUIRE(seen.wait_for_durable(1, 2));
  a->stop();
  CHECK(a->counted().shrunk == 1);
  CHECK(a->counted().set_aside == 0);
  CHECK(a->health().empty());
  CHECK(a->queued() == 0);
  const auto entries = entries_of(*a, 1);
  REQUIRE(entries.size() == 3);
  CHECK(entries[1].frame == message(1, 1).frame);
  const auto browses = browser::open(folder.file());
  REQUIRE(browses.has_value());
  const auto detections = (*browses)->detections(1, 0, 10);
  REQUIRE(detections.has_value());
  REQUIRE(detections->size() == 2);
  CHECK((*detections)[0].json == R"({"rule":"deadlock","severity":"failure","too_large":true})");
  CHECK((*detections)[1].json == R"({"rule":"orphaned_event"})");
}

TEST_CASE("a_frame_too_large_to_store_sets_its_run_aside", "[archive]") {
  temporary_folder folder;
  reports seen;
  options small;
  small.path = folder.file();
  small.max_value_bytes = 1 << 20;
  auto a = open_archive(small, seen);
  auto p = a->make_producer();
  push(*p, opening(1));
  auto large = message(1, 1);
  large.frame = "\"" + std::string(2 << 20, 'x') + "\"";
  push(*p, large);
  push(*p, opening(2));
  push(*p, message(2, 1));
  REQUIRE(seen.wait_for_durable(2, 1));
  a->stop();
  CHECK(a->counted().shrunk == 0);
  CHECK(a->counted().set_aside == 1);
}

TEST_CASE("a_run_that_contradicts_the_archive_is_set_aside_and_the_others_go_on", "[archive]") {
  temporary_folder folder;
  reports seen;
  auto a = open_archive(folder.file(), seen);
  auto p = a->make_producer();
  push(*p, opening(1));
  push(*p, message(1, 1));
  auto wrong = message(1, 2);
  wrong.interventions.push_back({"sys:1", "create", {}, 0, "{}"});
  wrong.interventions.push_back({"sys:1", "create", {}, 0, "{}"});
  push(*p, wrong);
  push(*p, message(1, 3));
  push(*p, opening(2));
  push(*p, message(2, 1));
  push(*p, message(7, 1));  // a run that was never opened
  REQUIRE(seen.wait_for_durable(2, 1));
  REQUIRE(seen.wait_for_health("number 7"));
  CHECK_FALSE(a->health().empty());
  a->stop();
  CHECK(seen.durable_seq(1) == 1);  // its prefix stays; nothing after it is reported durable
  CHECK(seen.durable_seq(7) == 0);
  CHECK(entries_of(*a, 1).size() == 2);
  CHECK(entries_of(*a, 2).size() == 2);
  CHECK(a->counted().set_aside == 3);
  CHECK(a->queued() == 0);
}

}  // namespace digd::archive::testing
