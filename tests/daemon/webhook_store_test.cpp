// webhooks.db: what is there after it was closed, and what a failure leaves.
#include "daemon/webhook/webhook_store.h"

#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>

namespace digd::daemon {
namespace {

using archive::callback_kind;

class folder {
 public:
  folder() {
    std::string name = (std::filesystem::temp_directory_path() / "digd-webhooks-XXXXXX").string();
    path_ = ::mkdtemp(name.data());
  }
  ~folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  std::string file() const { return (path_ / "webhooks.db").string(); }

 private:
  std::filesystem::path path_;
};

void check(const archive::failure& why) {
  INFO(why.words);
  CHECK_FALSE(why);
}

stored_callback callback(std::uint64_t run, std::int64_t row, callback_kind kind = callback_kind::detection) {
  return {.run_number = run, .kind = kind, .row = row, .rule = "deadlock", .since_ms = 1'000 + row};
}

std::vector<std::int64_t> rows_of(const std::vector<stored_callback>& callbacks) {
  std::vector<std::int64_t> out;
  for (const auto& callback : callbacks) out.push_back(callback.row);
  return out;
}

std::vector<std::int64_t> waiting_rows(webhook_store& store, const std::string& name) {
  std::vector<stored_callback> callbacks;
  check(store.waiting(name, callbacks));
  return rows_of(callbacks);
}

std::vector<std::int64_t> dead_rows(webhook_store& store, const std::string& name) {
  std::vector<dead_letter> dead_letters;
  check(store.dead(name, 0, 100, dead_letters));
  std::vector<std::int64_t> out;
  for (const auto& dead_letter : dead_letters) out.push_back(dead_letter.callback.row);
  std::int64_t count = 0;
  check(store.dead_count(name, count));
  CHECK(count == static_cast<std::int64_t>(out.size()));
  return out;
}

using rows = std::vector<std::int64_t>;

TEST_CASE("what_waits_is_there_after_a_restart_in_its_order") {
  const folder in;
  std::string prefix;
  {
    webhook_store store;
    check(store.open(in.file()));
    prefix = store.prefix();
    CHECK(prefix.size() == 16);
    check(store.add("pager", {5, 6}));
    std::vector<stored_callback> these{callback(1, 7), callback(2, 7, callback_kind::intervention), callback(1, 8)};
    check(store.take("pager", {8, 7}, these));
    CHECK(these[0].id < these[1].id);
    check(store.tried(these[1].id, 3));
    check(store.done(these[0].id));
  }
  webhook_store store;
  check(store.open(in.file()));
  CHECK(store.prefix() == prefix);
  std::vector<webhook_store::known> known;
  check(store.webhooks(known));
  REQUIRE(known.size() == 1);
  CHECK(known[0].name == "pager");
  CHECK(known[0].position == archive::callback_position{8, 7});
  std::vector<stored_callback> callbacks;
  check(store.waiting("pager", callbacks));
  REQUIRE(rows_of(callbacks) == rows{7, 8});
  CHECK(callbacks[0].kind == callback_kind::intervention);
  CHECK(callbacks[0].run_number == 2);
  CHECK(callbacks[0].attempts == 3);
  CHECK(callbacks[0].since_ms == 1'007);
  CHECK(callbacks[0].rule == "deadlock");
}

TEST_CASE("nothing_of_a_failed_call_is_stored") {
  const folder in;
  webhook_store store;
  check(store.open(in.file()));
  check(store.add("pager", {1, 1}));
  std::vector<stored_callback> these{callback(1, 2)};
  CHECK(store.take("nobody", {2, 1}, these));  // there is no such webhook
  CHECK(waiting_rows(store, "nobody").empty());
  CHECK(store.add("pager", {9, 9}));
  std::vector<webhook_store::known> known;
  check(store.webhooks(known));
  CHECK(known[0].position == archive::callback_position{1, 1});
  check(store.take("pager", {2, 1}, these));  // and it goes on
}

TEST_CASE("dead_letters_are_kept_up_to_a_bound_and_the_oldest_goes") {
  const folder in;
  webhook_store store;
  check(store.open(in.file()));
  check(store.add("pager", {}));
  check(store.add("other", {}));
  std::vector<stored_callback> these;
  for (std::int64_t row = 1; row <= 5; ++row) these.push_back(callback(1, row));
  check(store.take("pager", {5, 0}, these));
  std::vector<stored_callback> theirs{callback(1, 9)};
  check(store.take("other", {9, 0}, theirs));
  std::int64_t dropped = 0;
  check(store.died("other", theirs[0], 1, "status 500", 3, dropped));
  // The fifth dies first: it is the oldest dead letter, though not the oldest callback.
  for (const std::size_t i : {4, 0, 1, 2}) {
    these[i].attempts = 4;
    check(store.died("pager", these[i], 100 + static_cast<std::int64_t>(i == 4 ? 0 : i + 1), "status 500", 3, dropped));
    CHECK(dropped == (i == 2 ? 1 : 0));
  }
  CHECK(dead_rows(store, "pager") == rows{1, 2, 3});
  CHECK(dead_rows(store, "other") == rows{9});
  CHECK(waiting_rows(store, "pager") == rows{4});
  std::vector<dead_letter> page;
  check(store.dead("pager", these[0].id, 1, page));
  REQUIRE(page.size() == 1);
  CHECK(page[0].callback.row == 2);
  CHECK(page[0].callback.attempts == 4);
  CHECK(page[0].why == "status 500");
  CHECK(page[0].died_ms == 102);
  check(store.died("pager", these[3], 200, "x", 0, dropped));
  CHECK(dropped == 4);
  CHECK(dead_rows(store, "pager").empty());
}

TEST_CASE("dead_letters_that_are_sent_again_stand_behind_what_waits") {
  const folder in;
  webhook_store store;
  check(store.open(in.file()));
  check(store.add("pager", {}));
  std::vector<stored_callback> these{callback(1, 1), callback(1, 2), callback(1, 3)};
  check(store.take("pager", {3, 0}, these));
  std::int64_t dropped = 0;
  check(store.died("pager", these[0], 1, "x", 10, dropped));
  check(store.died("pager", these[1], 2, "x", 10, dropped));
  std::vector<stored_callback> risen;
  check(store.revive("pager", 77, 1, risen));
  CHECK(rows_of(risen) == rows{1});
  CHECK(risen[0].since_ms == 77);
  CHECK(risen[0].attempts == 0);
  CHECK(dead_rows(store, "pager") == rows{2});
  CHECK(waiting_rows(store, "pager") == rows{3, 1});
}

TEST_CASE("a_deleted_run_and_a_forgotten_webhook_leave_nothing") {
  const folder in;
  webhook_store store;
  check(store.open(in.file()));
  check(store.add("pager", {}));
  check(store.add("other", {}));
  std::vector<stored_callback> these{callback(1, 1), callback(2, 2), callback(1, 3)};
  check(store.take("pager", {3, 0}, these));
  std::vector<stored_callback> theirs{callback(1, 1)};
  check(store.take("other", {3, 0}, theirs));
  std::int64_t dropped = 0;
  check(store.died("pager", these[0], 1, "x", 10, dropped));
  check(store.forget_run(1));
  std::vector<std::uint64_t> runs;
  check(store.runs(runs));
  CHECK(runs == std::vector<std::uint64_t>{2});
  CHECK(dead_rows(store, "pager").empty());
  CHECK(waiting_rows(store, "other").empty());
  check(store.forget("pager"));
  CHECK(waiting_rows(store, "pager").empty());
  const std::string before = store.prefix();
  check(store.begin_anew());
  CHECK(store.prefix() != before);
  std::vector<webhook_store::known> known;
  check(store.webhooks(known));
  CHECK(known.empty());
}

TEST_CASE("a_file_of_another_program_is_refused_and_left_alone") {
  const folder in;
  {
    archive::connection db;
    check(db.open(in.file(), archive::open_mode::create, {}));
    check(db.execute("CREATE TABLE theirs (x)"));
  }
  webhook_store store;
  const archive::failure why = store.open(in.file());
  CHECK(why);
  CHECK(why.words.find("another program") != std::string::npos);
  CHECK_FALSE(store.is_open());
  std::filesystem::remove(in.file());
  std::ofstream(in.file())
      << "this is no database at all, and longer than a header of SQLite is: 0123456789012345678901234567890123456789";
  CHECK(store.open(in.file()));
  std::filesystem::remove(in.file());
  {
    archive::connection db;
    check(db.open(in.file(), archive::open_mode::create, {}));
    check(db.execute("PRAGMA application_id = 1684629352; PRAGMA user_version = 99"));
  }
  CHECK(store.open(in.file()).words.find("schema version 99") != std::string::npos);
}

}  // namespace
}  // namespace digd::daemon
