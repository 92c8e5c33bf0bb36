// webhooks.db: what it keeps after a restart, and that failed calls leave it unchanged.
#include "daemon/webhook/webhook_store.h"

#include <catch2/catch.hpp>
#include <fstream>

#include "tests/archive/support.h"

namespace digd::daemon {
namespace {

using archive::callback_kind;
using archive::testing::temporary_folder;

void check(const archive::failure& failed) {
  INFO(failed.words);
  CHECK_FALSE(failed);
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
  check(store.dead_letters(name, 0, 100, dead_letters));
  std::vector<std::int64_t> out;
  for (const auto& dead_letter : dead_letters) out.push_back(dead_letter.callback.row);
  std::int64_t count = 0;
  check(store.dead_count(name, count));
  CHECK(count == static_cast<std::int64_t>(out.size()));
  return out;
}

using rows = std::vector<std::int64_t>;

TEST_CASE("waiting_callbacks_survive_a_restart_in_order") {
  const temporary_folder folder;
  std::string prefix;
  {
    webhook_store store;
    check(store.open(folder.file("webhooks.db")));
    prefix = store.prefix();
    CHECK(prefix.size() == 16);
    check(store.add_webhook("pager", {5, 6}));
    std::vector<stored_callback> pager_callbacks{callback(1, 7), callback(2, 7, callback_kind::intervention),
                                                 callback(1, 8)};
    check(store.add_callbacks("pager", {8, 7}, pager_callbacks));
    CHECK(pager_callbacks[0].id < pager_callbacks[1].id);
    check(store.set_attempts(pager_callbacks[1].id, 3));
    check(store.remove_callback(pager_callbacks[0].id));
  }
  webhook_store store;
  check(store.open(folder.file("webhooks.db")));
  CHECK(store.prefix() == prefix);
  std::vector<webhook_store::webhook_position> known;
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

TEST_CASE("a_failed_call_stores_nothing") {
  const temporary_folder folder;
  webhook_store store;
  check(store.open(folder.file("webhooks.db")));
  check(store.add_webhook("pager", {1, 1}));
  std::vector<stored_callback> pager_callbacks{callback(1, 2)};
  CHECK(store.add_callbacks("unknown", {2, 1}, pager_callbacks));  // unknown webhook
  CHECK(waiting_rows(store, "unknown").empty());
  CHECK(store.add_webhook("pager", {9, 9}));
  std::vector<webhook_store::webhook_position> known;
  check(store.webhooks(known));
  CHECK(known[0].position == archive::callback_position{1, 1});
  check(store.add_callbacks("pager", {2, 1}, pager_callbacks));  // later calls still work
}

TEST_CASE("beyond_the_limit_the_oldest_dead_letter_is_dropped") {
  const temporary_folder folder;
  webhook_store store;
  check(store.open(folder.file("webhooks.db")));
  check(store.add_webhook("pager", {}));
  check(store.add_webhook("other", {}));
  std::vector<stored_callback> pager_callbacks;
  for (std::int64_t row = 1; row <= 5; ++row) pager_callbacks.push_back(callback(1, row));
  check(store.add_callbacks("pager", {5, 0}, pager_callbacks));
  std::vector<stored_callback> other_callbacks{callback(1, 9)};
  check(store.add_callbacks("other", {9, 0}, other_callbacks));
  std::int64_t dropped = 0;
  check(store.make_dead("other", other_callbacks[0], 1, "status 500", 3, dropped));
  // The fifth dies first: it is the oldest dead letter, though not the oldest callback.
  for (const std::size_t i : {4, 0, 1, 2}) {
    pager_callbacks[i].attempts = 4;
    check(store.make_dead("pager", pager_callbacks[i], 100 + static_cast<std::int64_t>(i == 4 ? 0 : i + 1),
                          "status 500", 3, dropped));
    CHECK(dropped == (i == 2 ? 1 : 0));
  }
  CHECK(dead_rows(store, "pager") == rows{1, 2, 3});
  CHECK(dead_rows(store, "other") == rows{9});
  CHECK(waiting_rows(store, "pager") == rows{4});
  std::vector<dead_letter> page;
  check(store.dead_letters("pager", pager_callbacks[0].id, 1, page));
  REQUIRE(page.size() == 1);
  CHECK(page[0].callback.row == 2);
  CHECK(page[0].callback.attempts == 4);
  CHECK(page[0].problem == "status 500");
  CHECK(page[0].died_ms == 102);
  check(store.make_dead("pager", pager_callbacks[3], 200, "x", 0, dropped));
  CHECK(dropped == 4);
  CHECK(dead_rows(store, "pager").empty());
}

TEST_CASE("revived_dead_letters_wait_behind_the_other_callbacks") {
  const temporary_folder folder;
  webhook_store store;
  check(store.open(folder.file("webhooks.db")));
  check(store.add_webhook("pager", {}));
  std::vector<stored_callback> pager_callbacks{callback(1, 1), callback(1, 2), callback(1, 3)};
  check(store.add_callbacks("pager", {3, 0}, pager_callbacks));
  std::int64_t dropped = 0;
  check(store.make_dead("pager", pager_callbacks[0], 1, "x", 10, dropped));
  check(store.make_dead("pager", pager_callbacks[1], 2, "x", 10, dropped));
  std::vector<stored_callback> revived;
  check(store.revive("pager", 77, 1, revived));
  CHECK(rows_of(revived) == rows{1});
  CHECK(revived[0].since_ms == 77);
  CHECK(revived[0].attempts == 0);
  CHECK(dead_rows(store, "pager") == rows{2});
  CHECK(waiting_rows(store, "pager") == rows{3, 1});
}

TEST_CASE("a_deleted_run_and_a_removed_webhook_leave_nothing") {
  const temporary_folder folder;
  webhook_store store;
  check(store.open(folder.file("webhooks.db")));
  check(store.add_webhook("pager", {}));
  check(store.add_webhook("other", {}));
  std::vector<stored_callback> pager_callbacks{callback(1, 1), callback(2, 2), callback(1, 3)};
  check(store.add_callbacks("pager", {3, 0}, pager_callbacks));
  std::vector<stored_callback> other_callbacks{callback(1, 1)};
  check(store.add_callbacks("other", {3, 0}, other_callbacks));
  std::int64_t dropped = 0;
  check(store.make_dead("pager", pager_callbacks[0], 1, "x", 10, dropped));
  check(store.remove_run(1));
  std::vector<std::uint64_t> runs;
  check(store.runs(runs));
  CHECK(runs == std::vector<std::uint64_t>{2});
  CHECK(dead_rows(store, "pager").empty());
  CHECK(waiting_rows(store, "other").empty());
  check(store.remove_webhook("pager"));
  CHECK(waiting_rows(store, "pager").empty());
  const std::string before = store.prefix();
  check(store.clear());
  CHECK(store.prefix() != before);
  std::vector<webhook_store::webhook_position> known;
  check(store.webhooks(known));
  CHECK(known.empty());
}

constexpr const char* version_2 = R"sql(
CREATE TABLE identity (prefix TEXT NOT NULL) STRICT;  -- random; all ids of callbacks begin with it
CREATE TABLE webhooks (
  name         TEXT PRIMARY KEY,
  detection    INTEGER NOT NULL,  -- the last detections.id of the archive that the webhook has read
  intervention INTEGER NOT NULL,  -- the last interventions.row of the archive that the webhook has read
  run_end_ms   INTEGER NOT NULL   -- Unix milliseconds: the latest end of a run that [otlp_export] has read
) STRICT;
CREATE TABLE callbacks (
  id       INTEGER PRIMARY KEY AUTOINCREMENT,  -- a run's callbacks are sent in this order
  webhook  TEXT NOT NULL REFERENCES webhooks (name) ON DELETE CASCADE,
  run      INTEGER NOT NULL,      -- the archive's runs.number
  kind     TEXT NOT NULL CHECK (kind IN ('detection', 'intervention', 'run')),
  row      INTEGER NOT NULL,      -- the archive's detections.id, interventions.row or runs.number
  rule     TEXT NOT NULL,
  since_ms INTEGER NOT NULL,      -- Unix milliseconds: when it was archived, or retried by an operator
  attempts INTEGER NOT NULL,      -- failed attempts
  died_ms  INTEGER,               -- Unix milliseconds; NULL: not a dead letter
  why      TEXT                   -- the last failure of a dead letter
) STRICT;
CREATE INDEX callbacks_by_webhook ON callbacks (webhook, died_ms IS NULL, id);
CREATE INDEX callbacks_by_run ON callbacks (run);
INSERT INTO identity VALUES ('0123456789abcdef');
INSERT INTO webhooks VALUES ('pager', 5, 6, 7);
INSERT INTO callbacks VALUES (7, 'pager', 1, 'detection', 1, 'deadlock', 1, 3, NULL, NULL);
PRAGMA application_id = 1684629352;
PRAGMA user_version = 2;
)sql";

TEST_CASE("callbacks_of_version_2_are_kept") {
  const temporary_folder folder;
  {
    archive::connection db;
    check(db.open(folder.file("webhooks.db"), archive::open_mode::create, {}));
    check(db.execute(version_2));
  }
  webhook_store store;
  check(store.open(folder.file("webhooks.db")));
  CHECK(store.prefix() == "0123456789abcdef");
  CHECK(waiting_rows(store, "pager") == rows{1});
  std::vector<webhook_store::webhook_position> known;
  check(store.webhooks(known));
  REQUIRE(known.size() == 1);
  CHECK(known[0].position == archive::callback_position{5, 6, -1 - 7});  // 7: the last end that it knew
  check(store.add_webhook("other", {1, 2, 3}));
  store.close();
  check(store.open(folder.file("webhooks.db")));
  CHECK(waiting_rows(store, "pager") == rows{1});
}

TEST_CASE("awaited_runs_are_stored_with_the_position") {
  using numbers = std::vector<std::uint64_t>;
  const temporary_folder folder;
  {
    webhook_store store;
    check(store.open(folder.file("webhooks.db")));
    check(store.add_webhook("export", {1, 1, 0}));
    std::vector<stored_callback> none;
    check(store.add_callbacks("export", {1, 1, 4}, none, {.awaited = {2, 3, 4}, .settled = {}}));
    check(store.add_callbacks("export", {1, 1, 6}, none, {.awaited = {3, 5}, .settled = {2}}));
    std::vector<stored_callback> refused{callback(1, 2)};
    CHECK(store.add_callbacks("unknown", {9, 9, 9}, refused, {.awaited = {9}, .settled = {3}}));
    check(store.remove_run(4));
  }
  webhook_store store;
  check(store.open(folder.file("webhooks.db")));
  numbers awaited;
  check(store.awaited_runs("export", awaited));
  CHECK(awaited == numbers{3, 5});
  std::vector<webhook_store::webhook_position> known;
  check(store.webhooks(known));
  CHECK(known[0].position == archive::callback_position{1, 1, 6});
  check(store.remove_webhook("export"));
  awaited.clear();
  check(store.awaited_runs("export", awaited));
  CHECK(awaited.empty());
}

TEST_CASE("a_file_of_another_program_is_refused_and_left_alone") {
  const temporary_folder folder;
  {
    archive::connection db;
    check(db.open(folder.file("webhooks.db"), archive::open_mode::create, {}));
    check(db.execute("CREATE TABLE foreign_table (x)"));
  }
  webhook_store store;
  const archive::failure failed = store.open(folder.file("webhooks.db"));
  CHECK(failed);
  CHECK(failed.words.find("another program") != std::string::npos);
  CHECK_FALSE(store.is_open());
  std::filesystem::remove(folder.file("webhooks.db"));
  std::ofstream(folder.file("webhooks.db"))
      << "this is no database at all, and longer than a header of SQLite is: 0123456789012345678901234567890123456789";
  CHECK(store.open(folder.file("webhooks.db")));
  std::filesystem::remove(folder.file("webhooks.db"));
  {
    archive::connection db;
    check(db.open(folder.file("webhooks.db"), archive::open_mode::create, {}));
    check(db.execute("PRAGMA application_id = 1684629352; PRAGMA user_version = 99"));
  }
  CHECK(store.open(folder.file("webhooks.db")).words.find("schema version 99") != std::string::npos);
}

}  // namespace
}  // namespace digd::daemon
