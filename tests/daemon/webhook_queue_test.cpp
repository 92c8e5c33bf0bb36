// A webhook's queue when the archive or webhooks.db fail, and the ends of runs. Only where a test runs the loop can a
// post end.
#include <boost/asio/io_context.hpp>
#include <catch2/catch.hpp>
#include <chrono>
#include <fstream>
#include <memory>
#include <set>

#include "base/unix_time.h"
#include "daemon/webhook/ended_runs.h"
#include "daemon/webhook/webhook.h"
#include "tests/archive/support.h"

namespace digd::daemon {
namespace {

using archive::testing::temporary_folder;

void require_success(const archive::failure& failed) {
  INFO(failed.words);
  REQUIRE_FALSE(failed);
}

// An archive that a test writes run by run.
class written_archive {
 public:
  written_archive() : archive_(open()), to_(archive_->make_producer()) {}

  void begin(std::uint64_t run) { archive::testing::push(*to_, archive::testing::opening(run, name_of(run))); }
  void detect(std::uint64_t run, std::uint64_t seq, std::int64_t archived_ms) {
    archive::entry entry = archive::testing::message(run, seq);
    entry.arrived_ms = archived_ms;
    archive::detection_row found;
    found.rule = "orphaned_event";
    found.severity = "failure";
    found.agent = "a";
    found.json = R"({"rule":"orphaned_event","severity":"failure","agent":"a","reason":"lost"})";
    entry.detections.push_back(found);
    archive::testing::push(*to_, std::move(entry));
  }
  void end(std::uint64_t run, std::int64_t ended_ms) {
    archive::entry entry = archive::testing::message(run, 1'000);
    entry.arrived_ms = ended_ms;
    entry.type = "run_ended";
    entry.ended = "success";
    archive::testing::push(*to_, std::move(entry));
  }
  void remove(std::uint64_t run) {
    archive::entry entry;
    entry.kind = archive::entry_kind::run_deleted;
    entry.run_number = run;
    archive::testing::push(*to_, std::move(entry));
  }
  // Waits until everything is in the file.
  void flush() {
    while (archive_->queued() > 0) std::this_thread::yield();
  }
  void close() {
    to_.reset();
    archive_.reset();
  }
  std::string file(const std::string& name = "digd.sqlite") const { return folder_.file(name); }
  std::unique_ptr<archive::callback_reader> reader() const {
    auto opened = archive::callback_reader::open(file());
    REQUIRE(opened.has_value());
    return std::move(*opened);
  }

 private:
  static std::string name_of(std::uint64_t run) { return "r" + std::to_string(run); }
  std::unique_ptr<archive::archive> open() {
    auto opened = archive::archive::open({.path = folder_.file()}, {});
    REQUIRE(opened.has_value());
    return std::move(*opened);
  }

  temporary_folder folder_;
  std::unique_ptr<archive::archive> archive_;
  std::unique_ptr<archive::producer> to_;
};

webhook_settings slack_settings() {
  webhook_settings settings;
  settings.name = "team";
  settings.url = "http://127.0.0.1:9/";
  settings.format = "slack";
  return settings;
}

// A webhook that has read nothing. webhooks.db knows it once `add` was called.
class queue_fixture {
 public:
  queue_fixture(const written_archive& from, const webhook_settings& settings) : reads_(from.reader()) {
    require_success(store_.open(from.file("webhooks.db")));
    std::string problem;
    target_ = make_target(settings, problem);
    INFO(problem);
    REQUIRE(target_);
    const archive::callback_position start{.detection = 0, .intervention = 0, .run = 0};
    webhook_ = std::make_shared<webhook>(context_, *reads_, store_, links_, target_, start, [] {});
  }
  void add() { require_success(store_.add_webhook(target_->settings.name, {.run = 0})); }
  void read() { webhook_->read_archive(*reads_->end()); }
  webhook_status status() { return webhook_->status(); }
  void run_for(std::chrono::milliseconds time) { context_.run_for(time); }
  webhook_store& store() { return store_; }

 private:
  boost::asio::io_context context_;
  std::unique_ptr<archive::callback_reader> reads_;
  webhook_store store_;
  hold_links links_;
  std::shared_ptr<const target> target_;
  std::shared_ptr<webhook> webhook_;
};

TEST_CASE("an_alert_is_posted_although_its_first_write_failed") {
  written_archive from;
  from.begin(1);
  for (std::uint64_t seq = 1; seq <= 3; ++seq) from.detect(1, seq, unix_ms());
  from.flush();
  queue_fixture team(from, slack_settings());
  team.read();  // the store refuses callbacks of a webhook that it does not know
  CHECK(team.status().waiting == 0);
  CHECK(team.status().joined == 0);
  team.add();
  team.read();
  CHECK(team.status().waiting == 1);
  CHECK(team.status().joined == 2);
}

TEST_CASE("a_dead_letter_is_kept_although_its_first_write_failed") {
  written_archive from;
  from.begin(1);
  from.detect(1, 1, 1'000);  // older than any limit
  from.flush();
  queue_fixture team(from, slack_settings());
  team.add();
  archive::connection other;
  require_success(other.open(from.file("webhooks.db"), archive::open_mode::read_write, {}));
  require_success(
      other.execute("CREATE TRIGGER refuse BEFORE UPDATE ON callbacks BEGIN SELECT RAISE(ABORT, 'refused'); END"));
  team.read();
  CHECK(team.status().waiting == 1);
  CHECK(team.status().died == 0);
  require_success(other.execute("DROP TRIGGER refuse"));
  for (int i = 0; i < 100 && team.status().died == 0; ++i) team.run_for(std::chrono::milliseconds(100));
  CHECK(team.status().waiting == 0);
  CHECK(team.status().dead == 1);
}

TEST_CASE("many_dead_letters_leave_the_thread_time_for_other_work") {
  written_archive from;
  from.begin(1);
  for (std::uint64_t seq = 1; seq <= 200; ++seq) from.detect(1, seq, 1'000);
  from.flush();
  webhook_settings settings = slack_settings();
  settings.group_ms = 0;
  queue_fixture team(from, settings);
  team.add();
  team.read();
  CHECK(team.status().died > 0);
  CHECK(team.status().died < 200);
  for (int i = 0; i < 100 && team.status().died < 200; ++i) team.run_for(std::chrono::milliseconds(100));
  CHECK(team.status().died == 200);
}

// Overwrites the index that finds the labels of a run. Detections are found without it.
void damage_index_of_labels(const std::string& file) {
  std::int64_t page = 0;
  {
    archive::connection db;
    require_success(db.open(file, archive::open_mode::read_write, {}));
    require_success(db.query("SELECT rootpage FROM sqlite_schema WHERE name = 'entries_by_run'", page));
    require_success(db.execute("PRAGMA wal_checkpoint(TRUNCATE)"));
  }
  std::fstream bytes(file, std::ios::in | std::ios::out | std::ios::binary);
  bytes.seekp((page - 1) * 4'096);
  bytes << std::string(4'096, '\xff');
}

TEST_CASE("a_span_waits_while_the_labels_of_its_run_cannot_be_read") {
  written_archive from;
  from.begin(1);
  from.detect(1, 1, unix_ms());
  from.flush();
  from.close();
  damage_index_of_labels(from.file());
  webhook_settings settings;
  settings.name = "otlp_export";
  settings.url = "http://127.0.0.1:9/";
  settings.format = "otlp";
  queue_fixture spans(from, settings);
  spans.add();
  spans.read();
  CHECK(spans.status().waiting == 1);
  CHECK(spans.status().under_way == 0);  // a span without labels would be in another trace
}

// ---- ends of runs

using numbers = std::vector<std::uint64_t>;

// The finder of ends, and what webhooks.db would keep of it.
class end_finder {
 public:
  explicit end_finder(const written_archive& from) : from_(from), reads_(from.reader()) {}

  void begin(std::optional<std::int64_t> known_ms = {}) { take(*ended_runs::begin(*reads_, known_ms)); }
  void restart() {
    ends_ = {};
    reads_ = from_.reader();
    const numbers awaited(awaited_.begin(), awaited_.end());
    take(*ended_runs::restore(*reads_, upto_, awaited));
  }
  numbers find(std::size_t max = 100) {
    const auto found = ends_.find(*reads_, max);
    REQUIRE(found.has_value());
    more_ = found->more;
    take(*found);
    numbers out;
    for (const archive::ended_run& run : found->ended) out.push_back(run.number);
    return out;
  }
  void forget(std::uint64_t run) {
    ends_.forget(run);
    awaited_.erase(run);
  }
  bool has_more() const { return more_; }
  const std::set<std::uint64_t>& awaited() const { return awaited_; }

 private:
  void take(const ended_runs::changes& changes) {
    ends_.take(changes);
    upto_ = changes.upto;
    awaited_.insert(changes.runs.awaited.begin(), changes.runs.awaited.end());
    for (const std::uint64_t number : changes.runs.settled) awaited_.erase(number);
  }

  const written_archive& from_;
  std::unique_ptr<archive::callback_reader> reads_;
  ended_runs ends_;
  std::uint64_t upto_ = 0;
  std::set<std::uint64_t> awaited_;
  bool more_ = false;
};

TEST_CASE("each_end_is_found_once_whatever_the_order_and_the_stamps") {
  written_archive from;
  from.begin(2);
  from.begin(3);
  from.end(3, 5'000);
  from.flush();
  end_finder ends(from);
  CHECK(ends.find() == numbers{3});
  CHECK(ends.find().empty());
  from.begin(1);  // its engine thread was slower
  from.end(1, 9'000);
  from.end(2, 4'000);  // the clock was set back
  from.flush();
  CHECK(ends.find() == numbers{2, 1});
  CHECK(ends.find().empty());
  CHECK(ends.awaited().empty());
}

TEST_CASE("a_restart_neither_misses_nor_repeats_an_end") {
  written_archive from;
  for (std::uint64_t run = 1; run <= 3; ++run) from.begin(run);
  from.end(1, 5'000);
  from.flush();
  end_finder ends(from);
  CHECK(ends.find() == numbers{1});
  from.end(2, 4'999);  // stamped before the end that was found, and written after it
  from.begin(4);
  from.end(4, 5'000);
  from.flush();
  ends.restart();
  CHECK(ends.find() == numbers{2, 4});
  ends.restart();
  CHECK(ends.find().empty());
  CHECK(ends.awaited() == std::set<std::uint64_t>{3});
}

TEST_CASE("a_new_export_gets_the_ends_of_open_runs_only") {
  written_archive from;
  from.begin(1);
  from.end(1, 5'000);
  from.begin(3);
  from.flush();
  end_finder ends(from);
  ends.begin();
  CHECK(ends.find().empty());
  from.begin(2);  // its number is lower than one that was there already
  from.end(2, 6'000);
  from.end(3, 7'000);
  from.flush();
  CHECK(ends.find() == numbers{2, 3});
}

TEST_CASE("an_export_of_an_earlier_version_gets_the_ends_after_the_last_that_it_knew") {
  written_archive from;
  for (const std::uint64_t run : {1, 2, 3, 1'500, 3'000}) from.begin(run);
  from.end(1, 5'000);
  from.end(2, 5'001);
  from.end(3'000, 4'000);
  from.flush();
  end_finder ends(from);
  ends.begin(5'000);
  CHECK(ends.awaited().size() == 3 + ended_runs::max_disorder - 1);  // 2, 3, 1500, and what the last ones may lack
  CHECK(ends.find() == numbers{2});
  from.end(3, 3'000);
  from.flush();
  CHECK(ends.find() == numbers{3});
}

TEST_CASE("ends_beyond_the_room_are_found_later_and_deleted_runs_never") {
  written_archive from;
  for (std::uint64_t run = 1; run <= 6; ++run) from.begin(run);
  from.flush();
  end_finder ends(from);
  CHECK(ends.find().empty());
  CHECK(ends.awaited().size() == 6);
  for (std::uint64_t run = 1; run <= 5; ++run) from.end(run, 5'000);
  from.remove(6);
  from.flush();
  ends.forget(6);
  std::set<std::uint64_t> found;
  for (int i = 0; i < 3; ++i) {
    for (const std::uint64_t run : ends.find(2)) CHECK(found.insert(run).second);
    CHECK(ends.has_more() == (i < 2));
  }
  CHECK(found == std::set<std::uint64_t>{1, 2, 3, 4, 5});
  CHECK(ends.awaited().empty());
  from.begin(3'000);
  from.end(3'000, 1);
  from.flush();
  CHECK(ends.find() == numbers{3'000});
  CHECK(ends.awaited().size() == ended_runs::max_disorder);
}

}  // namespace
}  // namespace digd::daemon
