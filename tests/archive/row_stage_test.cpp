// Rows that are read page by page equal those that SQLite reads, also from the log.
#include "archive/row_stage.h"

#include <fstream>

#include "archive/schema.h"
#include "tests/archive/support.h"

namespace digd::archive::testing {

namespace {

constexpr int all_kinds = 300;

// Rows of each table, small and of several pages, with values of each size and some left out.
void write_rows(connection& db, int from, int to) {
  const std::string range = "WITH RECURSIVE i (n) AS (SELECT " + std::to_string(from) +
                            " UNION ALL SELECT n + 1 FROM i WHERE n < " + std::to_string(to) + ") ";
  const std::string number =
      "CASE n % 9 WHEN 0 THEN 0 WHEN 1 THEN 1 WHEN 2 THEN -1 WHEN 3 THEN 300 WHEN 4 THEN -70000"
      " WHEN 5 THEN 1 << 40 WHEN 6 THEN 9223372036854775807 WHEN 7 THEN 1 << 30 ELSE 77 END";
  const std::string text = "substr(hex(zeroblob(n * n % 20000)), 1, n * n % 20011) || n";
  for (const std::string& sql : {
           range + "INSERT INTO runs (number, run, opened_ms, mode) SELECT n, 'r' || n, " + number + ", " + text +
               " FROM i",
           range +
               "INSERT INTO entries (id, run, n, kind, session, seq, ts, arrived_ms, frame) SELECT n, n, 1,"
               " 'message', iif(n % 2, 's', NULL), " +
               number + ", n, n, " + text + " FROM i",
           range +
               "INSERT INTO detections (id, run, entry, rule, severity, ts, healed, json, more_evidence) SELECT n,"
               " n, n, 'deadlock', 'failure', " +
               number + ", n % 2, '{\"reason\":\"' || " + text + " || '\"}', iif(n % 3, NULL, CAST(" + text +
               " AS BLOB)) FROM i",
           range +
               "INSERT INTO interventions (row, run, id, entry, action, ts, json) SELECT n, n, 'sys:' || n, n,"
               " 'create', " +
               number + ", " + text + " FROM i",
           range +
               "INSERT INTO outcomes (id, run, entry, rule, event, detected_ts, ts, outcome) SELECT n, n, n,"
               " 'deadlock', iif(n % 2, 'e', NULL), " +
               number + ", n, 'cleared' FROM i",
           range +
               "INSERT INTO judgements (detection, run, judgement, judged_by, judged_ms) SELECT n, n, 'right', "
               "iif(n % 2, 'p', NULL), " +
               number + " FROM i",
       }) {
    const failure fault = db.execute(sql);
    INFO(fault.words);
    REQUIRE_FALSE(fault);
  }
}

std::string checksum_of(connection& db, const std::string& table) {
  std::string columns, rows;
  REQUIRE_FALSE(
      db.query("SELECT group_concat('quote(' || name || ')', ' || '','' || ') FROM pragma_table_info('" + table + "')",
               columns));
  REQUIRE_FALSE(db.query("SELECT count(*) || ':' || coalesce(group_concat(line, ';'), '') FROM (SELECT " + columns +
                             " AS line FROM " + table + " ORDER BY 1)",
                         rows));
  return rows;
}

// A copy of the file and its log, as a kill would leave them.
std::string as_after_a_kill(const temporary_folder& folder, const std::string& name) {
  for (const char* part : {"", "-wal"}) {
    std::filesystem::copy_file(folder.file() + part, folder.file(name) + part);
  }
  return folder.file(name);
}

}  // namespace

TEST_CASE("the_rows_of_pages_and_log_equal_those_that_sqlite_reads", "[archive]") {
  temporary_folder folder;
  connection db;
  REQUIRE_FALSE(db.open(folder.file(), open_mode::create, {}));
  REQUIRE_FALSE(migrate(db, true));
  REQUIRE_FALSE(db.execute("PRAGMA wal_autocheckpoint = 0"));
  write_rows(db, 1, all_kinds);
  REQUIRE_FALSE(db.execute("PRAGMA wal_checkpoint(PASSIVE)"));
  write_rows(db, all_kinds + 1, 2 * all_kinds);  // only in the log

  row_stage stage;
  const failure fault =
      stage.fill(as_after_a_kill(folder, "copy"), folder.file("stage"), {}, [](auto) { return true; });
  INFO(fault.words);
  REQUIRE_FALSE(fault);
  for (std::size_t i = 0; i < run_tables.size(); ++i) {
    INFO(run_tables[i].name);
    CHECK(stage.highest_key(i) == 2 * all_kinds);
    CHECK(checksum_of(stage.rows(), run_tables[i].name) == checksum_of(db, run_tables[i].name));
    CHECK(stage.holes(i, {}).empty());
  }
}

TEST_CASE("what_the_log_did_not_commit_or_lost_does_not_count", "[archive]") {
  temporary_folder folder;
  connection db;
  REQUIRE_FALSE(db.open(folder.file(), open_mode::create, {}));
  REQUIRE_FALSE(migrate(db, true));
  REQUIRE_FALSE(db.execute("PRAGMA wal_autocheckpoint = 0"));
  write_rows(db, 1, 20);
  const std::string expected = checksum_of(db, "entries");
  REQUIRE_FALSE(db.execute("BEGIN"));
  write_rows(db, 21, 40);
  REQUIRE_FALSE(db.execute("COMMIT"));
  const std::string path = as_after_a_kill(folder, "copy");
  std::filesystem::resize_file(path + "-wal", std::filesystem::file_size(path + "-wal") - 1);

  row_stage stage;
  REQUIRE_FALSE(stage.fill(path, folder.file("stage"), {}, [](auto) { return true; }));
  CHECK(checksum_of(stage.rows(), "entries") == expected);
}

TEST_CASE("rows_between_two_pages_are_missing_unless_their_keys_are_consecutive", "[archive]") {
  temporary_folder folder;
  connection db;
  REQUIRE_FALSE(db.open(folder.file(), open_mode::create, {}));
  REQUIRE_FALSE(migrate(db, true));
  write_rows(db, 1, all_kinds);
  std::int64_t page = 0;  // of detections, in the middle
  REQUIRE_FALSE(
      db.query("SELECT pageno FROM dbstat WHERE name = 'detections' AND pagetype = 'leaf' LIMIT 1 OFFSET 3", page));
  db.close();
  {
    std::fstream file(folder.file(), std::ios::in | std::ios::out | std::ios::binary);
    file.seekp((page - 1) * page_size);
    file << std::string(page_size, 'x');
  }
  row_stage stage;
  REQUIRE_FALSE(stage.fill(folder.file(), folder.file("stage"), {}, [](auto) { return true; }));
  const std::vector<hole> holes = stage.holes(2, {.before = all_kinds + 1});
  REQUIRE(holes.size() == 1);
  std::int64_t missing = 0;
  REQUIRE_FALSE(
      stage.rows().query("SELECT count(*) FROM entries WHERE id NOT IN (SELECT id FROM detections)", missing));
  CHECK(missing > 0);
  CHECK(holes[0].last_entry - holes[0].first_entry == missing + 1);
  CHECK(stage.holes(2, {.none = true}).empty());
}

}  // namespace digd::archive::testing
