// Deletion: removes every trace of the run, does not affect other runs, and continues after a restart.
#include <fstream>

#include "archive/browser.h"
#include "archive/trace_source.h"
#include "tests/archive/faulty_disk.h"
#include "tests/archive/support.h"

namespace digd::archive::testing {

namespace {

constexpr const char* secret = "the-secret-of-run-one";

entry deletion(std::uint64_t run) {
  entry made;
  made.kind = entry_kind::run_deleted;
  made.run_number = run;
  return made;
}

entry telling(std::uint64_t run, std::uint64_t seq, const std::string& words, std::size_t bytes = 200) {
  entry made = message(run, seq);
  std::string text;
  while (text.size() < bytes) text += words + ' ';
  made.frame = R"({"type":"event","seq":)" + std::to_string(seq) + R"(,"payload":")" + text + "\"}";
  detection_row found;
  found.rule = "deadlock";
  found.severity = "failure";
  found.event = words;
  found.json = R"({"reason":")" + words + "\"}";
  made.detections.push_back(found);
  made.interventions.push_back({"sys:" + std::to_string(seq), "create", words, 1, "{\"inject\":\"" + words + "\"}"});
  made.outcomes.push_back({"deadlock", "cleared", 2, 1, words});
  return made;
}

bool holds(const std::string& file, const std::string& text) {
  std::ifstream in(file, std::ios::binary);
  const std::string content{std::istreambuf_iterator<char>(in), {}};
  return content.find(text) != std::string::npos;
}

// The callback that reports durable entries also reports deletions.
struct watched_deletions {
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<std::uint64_t> gone;
  reports seen;

  std::function<void(std::span<const durable>)> on_durable() {
    return [this, tell = seen.on_durable()](std::span<const durable> progress) {
      std::vector<durable> kept;
      {
        const std::lock_guard hold(mutex);
        for (const durable& run : progress) {
          if (run.deleted) {
            gone.push_back(run.run_number);
          } else {
            kept.push_back(run);
          }
        }
      }
      changed.notify_all();
      tell(kept);
    };
  }
  bool wait_for(std::size_t n) {
    std::unique_lock hold(mutex);
    return changed.wait_for(hold, std::chrono::seconds(30), [&] { return gone.size() >= n; });
  }
};

std::unique_ptr<archive> open_watched(options options, watched_deletions& by) {
  auto opened = archive::open(std::move(options), by.on_durable());
  REQUIRE(opened.has_value());
  return std::move(*opened);
}

void wait_until(const std::function<bool()>& holds_now) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (!holds_now() && std::chrono::steady_clock::now() < deadline)
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  CHECK(holds_now());
}

std::int64_t rows_of(const std::string& path, std::uint64_t run) {
  const std::string where = " WHERE run = " + std::to_string(run);
  return ask(path, "SELECT (SELECT count(*) FROM entries" + where + ") + (SELECT count(*) FROM detections" + where +
                       ") + (SELECT count(*) FROM interventions" + where + ") + (SELECT count(*) FROM outcomes" +
                       where + ") + (SELECT count(*) FROM runs WHERE number = " + std::to_string(run) + ")");
}

}  // namespace

TEST_CASE("of_a_deleted_run_no_byte_is_left_in_the_file_or_its_log", "[archive]") {
  temporary_folder folder;
  watched_deletions seen;
  options options;
  options.path = folder.file();
  auto a = open_watched(options, seen);
  auto p = a->make_producer();
  push(*p, opening(1, secret));
  push(*p, opening(2, "kept"));
  for (std::uint64_t seq = 1; seq <= 300; ++seq) {
    push(*p, telling(1, seq, secret));
    push(*p, telling(2, seq, "kept"));
  }
  push(*p, telling(1, 301, secret, 300'000));  // on pages of its own
  push(*p, message(2, 301));
  REQUIRE(seen.seen.wait_for_durable(2, 301));
  CHECK((holds(folder.file(), secret) || holds(folder.file("digd.sqlite-wal"), secret)));

  push(*p, deletion(1));
  REQUIRE(seen.wait_for(1));
  CHECK(rows_of(folder.file(), 1) == 0);
  wait_until([&] { return !holds(folder.file(), secret) && !holds(folder.file("digd.sqlite-wal"), secret); });
  CHECK(rows_of(folder.file(), 2) == 1 + 302 + 3 * 300);
  CHECK(a->counted().deleted_runs == 1);
  a.reset();
  CHECK(ask(folder.file(), "SELECT count(*) FROM pragma_integrity_check WHERE integrity_check <> 'ok'") == 0);
}

TEST_CASE("a_deletion_takes_many_steps_and_acks_come_between_them", "[archive]") {
  temporary_folder folder;
  watched_deletions seen;
  options options;
  options.path = folder.file();
  auto a = open_watched(options, seen);
  auto p = a->make_producer();
  push(*p, opening(1, "large"));
  push(*p, opening(2, "other"));
  for (std::uint64_t seq = 1; seq <= 20'000; ++seq) push(*p, telling(1, seq, "words"));
  REQUIRE(seen.seen.wait_for_durable(1, 20'000));
  const auto before = a->counted().commits.load();
  push(*p, deletion(1));
  std::uint64_t acked_meanwhile = 0;
  for (std::uint64_t seq = 1;; ++seq) {
    push(*p, message(2, seq));
    REQUIRE(seen.seen.wait_for_durable(2, seq));
    const std::lock_guard hold(seen.mutex);
    if (!seen.gone.empty()) break;
    ++acked_meanwhile;
  }
  CHECK(acked_meanwhile > 3);
  CHECK(a->counted().commits.load() - before > 3);
  CHECK(rows_of(folder.file(), 1) == 0);
}

TEST_CASE("deletion_keeps_up_with_what_arrives", "[archive]") {
  constexpr std::uint64_t entries = 20'000;
  temporary_folder folder;
  watched_deletions seen;
  options options;
  options.path = folder.file();
  auto a = open_watched(options, seen);
  auto p = a->make_producer();
  push(*p, opening(1, "large"));
  push(*p, opening(2, "other"));
  for (std::uint64_t seq = 1; seq <= entries; ++seq) push(*p, telling(1, seq, "words"));
  REQUIRE(seen.seen.wait_for_durable(1, entries));
  push(*p, deletion(1));
  const std::uint64_t before = a->counted().entries.load();
  for (std::uint64_t seq = 1; seq <= 20 * entries && a->counted().deleted_runs.load() == 0; ++seq) {
    push(*p, telling(2, seq, "words"));  // waits while the queue is full
  }
  REQUIRE(seen.wait_for(1));
  CHECK(a->counted().entries.load() - before < 4 * entries);
}

TEST_CASE("a_run_being_deleted_is_there_for_nobody_and_its_name_is_free", "[archive]") {
  temporary_folder folder;
  {
    reports seen;
    auto a = open_archive(folder.file(), seen);
    auto p = a->make_producer();
    push(*p, opening(1, "mine"));
    push(*p, telling(1, 1, "words"));
    REQUIRE(seen.wait_for_durable(1, 1));
  }
  // The state that a daemon leaves if it stops after the first step.
  ask(folder.file(), "UPDATE runs SET deleting = 1 WHERE number = 1");
  {
    auto b = browser::open(folder.file());
    REQUIRE(b.has_value());
    CHECK((*b)->runs(0, 10)->empty());
    CHECK_FALSE((*b)->find("mine")->has_value());
    CHECK((*b)->entries_after(0, 0)->empty());
    auto trace = trace_source::open(folder.file(), 1);
    REQUIRE(trace.has_value());
    CHECK((*trace)->next().error() == make_error_code(archive_error::run_deleted));
  }
  watched_deletions seen;
  options options;
  options.path = folder.file();
  auto a = open_watched(options, seen);
  CHECK(a->runs()->empty());
  CHECK(a->next_run_number() == 2);
  auto p = a->make_producer();
  push(*p, opening(2, "mine"));
  push(*p, message(2, 1));
  REQUIRE(seen.seen.wait_for_durable(2, 1));
  REQUIRE(seen.wait_for(1));
  CHECK(seen.gone == std::vector<std::uint64_t>{1});
  CHECK(rows_of(folder.file(), 1) == 0);
  CHECK(ask(folder.file(), "SELECT min(id) FROM entries") == 3);  // numbers are not used again
}

TEST_CASE("the_file_shrinks_after_a_large_run_was_deleted", "[archive]") {
  temporary_folder folder;
  watched_deletions seen;
  options options;
  options.path = folder.file();
  auto a = open_watched(options, seen);
  auto p = a->make_producer();
  push(*p, opening(1, "large"));
  push(*p, opening(2, "small"));
  for (std::uint64_t seq = 1; seq <= 400; ++seq) push(*p, telling(1, seq, "words", 40'000));
  push(*p, message(2, 1));
  REQUIRE(seen.seen.wait_for_durable(2, 1));
  push(*p, deletion(1));
  REQUIRE(seen.wait_for(1));
  wait_until([&] { return std::filesystem::file_size(folder.file()) < 3'000'000; });  // of 16 MB
  CHECK(ask(folder.file(), "PRAGMA freelist_count") <= 256);
  CHECK(rows_of(folder.file(), 2) == 3);
  push(*p, message(2, 2));
  REQUIRE(seen.seen.wait_for_durable(2, 2));
}

TEST_CASE("a_deletion_waits_for_a_disk_that_fails_and_is_done_once_it_works", "[archive]") {
  temporary_folder folder;
  faulty_disk disk;
  watched_deletions seen;
  options options;
  options.path = folder.file();
  options.vfs = disk.name();
  options.retry_ms = 1;
  options.max_retry_ms = 8;
  auto a = open_watched(options, seen);
  auto p = a->make_producer();
  push(*p, opening(1, secret));
  for (std::uint64_t seq = 1; seq <= 50; ++seq) push(*p, telling(1, seq, secret));
  REQUIRE(seen.seen.wait_for_durable(1, 50));
  disk.fail_writes(SQLITE_FULL);
  push(*p, deletion(1));
  wait_until([&] { return a->health().find("disk is full") != std::string::npos; });
  CHECK(seen.gone.empty());
  disk.work_again();
  REQUIRE(seen.wait_for(1));
  wait_until([&] { return a->health().empty(); });
  CHECK(rows_of(folder.file(), 1) == 0);
}

TEST_CASE("deleting_a_run_that_was_never_stored_is_done_at_once", "[archive]") {
  temporary_folder folder;
  watched_deletions seen;
  options options;
  options.path = folder.file();
  auto a = open_watched(options, seen);
  auto p = a->make_producer();
  push(*p, deletion(7));
  REQUIRE(seen.wait_for(1));
  CHECK(seen.gone == std::vector<std::uint64_t>{7});
}

}  // namespace digd::archive::testing
