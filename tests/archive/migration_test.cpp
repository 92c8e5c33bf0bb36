// Files of earlier schema versions (tests/archive/stored) become the current one, also after kills during the
// migration.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>

#include "archive/browser.h"
#include "archive/reader.h"
#include "archive/schema.h"
#include "archive/trace_source.h"
#include "tests/archive/faulty_disk.h"
#include "tests/archive/support.h"

namespace digd::archive::testing {

namespace {

std::string stored(int version) {
  return std::string(DIGD_SOURCE_DIR) + "/tests/archive/stored/v" + std::to_string(version) + ".db";
}

// Every row of an archive of any version as text, with the columns that version 1 has. Kinds are those of version 1.
std::string everything_in(const std::string& path) {
  connection db;
  REQUIRE_FALSE(db.open(path, open_mode::read_write, {}));
  const std::pair<std::string, std::string> columns_of_version_1[] = {
      {"runs", "number, run, opened_ms, last_ts, ended, ended_ms"},
      {"entries",
       "id, run, n, CASE WHEN kind IN ('limit', 'semantics') THEN 'operator_mode' ELSE kind END, session, seq, ts,"
       " arrived_ms, type, code, verdicts, frame"},
      {"detections",
       "id, run, entry, rule, severity, session, at, ts, event, agent, healed, healing, cause, json, reason"},
      {"interventions", "row, run, id, entry, action, event, ts, answered, answered_ts, answered_by, json"},
      {"outcomes", "id, run, entry, rule, event, detected_ts, ts, outcome"},
      {"sqlite_sequence", "name, seq"},
  };
  std::string current_text;
  for (const auto& [table, columns] : columns_of_version_1) {
    sqlite3_stmt* rows = nullptr;
    const std::string query = "SELECT " + columns + " FROM " + table + " ORDER BY 1, 2";
    REQUIRE(sqlite3_prepare_v2(db.get(), query.c_str(), -1, &rows, nullptr) == SQLITE_OK);
    while (sqlite3_step(rows) == SQLITE_ROW) {
      current_text += table;
      for (int i = 0; i < sqlite3_column_count(rows); ++i) {
        const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(rows, i));
        current_text.append("|").append(text == nullptr ? "NULL" : text);
      }
      current_text += '\n';
    }
    REQUIRE(sqlite3_finalize(rows) == SQLITE_OK);
  }
  return current_text;
}

std::string copy_of(int version, const temporary_folder& folder) {
  std::filesystem::copy_file(stored(version), folder.file());
  return everything_in(folder.file());
}

std::string trace_of(const std::string& path, std::uint64_t run) {
  auto source = trace_source::open(path, run);
  REQUIRE(source.has_value());
  std::string text;
  for (;;) {
    auto piece = (*source)->next();
    REQUIRE(piece.has_value());
    if (piece->empty()) return text;
    text += *piece;
  }
}

void bring_up_to_date(const std::string& path) {
  reports seen;
  open_archive(path, seen);
}

std::int64_t version_of(const std::string& path) { return ask(path, "PRAGMA user_version"); }

}  // namespace

TEST_CASE("every_earlier_version_is_stored", "[archive]") {
  for (int version = 1; version < schema_version; ++version) {
    CHECK(std::filesystem::exists(stored(version)));
    temporary_folder folder;
    copy_of(version, folder);
    CHECK(version_of(folder.file()) == version);
  }
}

TEST_CASE("a_migrated_file_gives_the_same_answers", "[archive]") {
  const int version = GENERATE(range(1, schema_version));
  temporary_folder folder;
  const std::string before = copy_of(version, folder);
  std::vector<std::pair<int, int>> steps;
  options options;
  options.path = folder.file();
  options.on_migration = [&](int from, int to) { steps.emplace_back(from, to); };
  reports seen;
  open_archive(options, seen);
  REQUIRE(steps.size() == static_cast<std::size_t>(schema_version - version));
  CHECK(steps.front().first == version);
  CHECK(steps.back().second == schema_version);
  CHECK(version_of(folder.file()) == schema_version);
  CHECK(everything_in(folder.file()) == before);
  CHECK(ask(folder.file(), "SELECT count(*) FROM pragma_integrity_check WHERE integrity_check <> 'ok'") == 0);
  CHECK(ask(folder.file(), "SELECT count(*) FROM pragma_foreign_key_check") == 0);
  steps.clear();
  open_archive(options, seen);
  CHECK(steps.empty());
}

TEST_CASE("an_earlier_file_gets_the_shape_of_a_new_one", "[archive]") {
  temporary_folder folder;
  copy_of(1, folder);
  bring_up_to_date(folder.file());
  bring_up_to_date(folder.file("new"));
  const std::string columns =
      "SELECT group_concat(m.name || '.' || c.name || c.type || c.\"notnull\" || coalesce(c.dflt_value, ''))"
      " FROM sqlite_schema AS m, pragma_table_info(m.name) AS c WHERE m.type = 'table' ORDER BY 1";
  const std::string indexes =
      "SELECT group_concat(sql, ';') FROM (SELECT sql FROM sqlite_schema WHERE type = 'index' ORDER BY name)";
  for (const std::string& query : {columns, indexes}) {
    connection old_one, new_one;
    REQUIRE_FALSE(old_one.open(folder.file(), open_mode::read_write, {}));
    REQUIRE_FALSE(new_one.open(folder.file("new"), open_mode::read_write, {}));
    std::string a, b;
    REQUIRE_FALSE(old_one.query(query, a));
    REQUIRE_FALSE(new_one.query(query, b));
    CHECK_FALSE(a.empty());
    CHECK(a == b);
  }
}

TEST_CASE("the_totals_of_version_2_are_counted_from_the_entries_of_version_1", "[archive]") {
  temporary_folder folder;
  copy_of(1, folder);
  bring_up_to_date(folder.file());
  CHECK(ask(folder.file(), "SELECT count(*) FROM runs WHERE bytes > 0 AND heard_ms >= opened_ms AND deleting = 0") ==
        4);
  CHECK(ask(folder.file(), "SELECT bytes FROM runs WHERE run = 'failed'") ==
        ask(folder.file(),
            "SELECT sum(length(CAST(frame AS BLOB)) + coalesce(length(CAST(verdicts AS BLOB)), 0)) FROM entries"
            " WHERE run = (SELECT number FROM runs WHERE run = 'failed')"));
}

TEST_CASE("version_3_finds_modes_activations_metrics_and_subjects_in_earlier_files", "[archive]") {
  temporary_folder folder;
  copy_of(2, folder);
  bring_up_to_date(folder.file());
  CHECK(ask(folder.file(), "SELECT count(*) FROM runs WHERE mode = 'enforce' AND canary IS NULL") == 3);
  CHECK(ask(folder.file(), "SELECT count(*) FROM runs WHERE mode = 'shadow'") == 2);
  CHECK(ask(folder.file(), "SELECT activations FROM runs WHERE run = 'measured'") == 2);
  CHECK(ask(folder.file(), "SELECT metrics ->> '$.cost' = 0.25 FROM runs WHERE run = 'measured'") == 1);
  CHECK(ask(folder.file(), "SELECT count(*) FROM runs WHERE metrics IS NOT NULL") == 1);
  CHECK(ask(folder.file(), "SELECT count(*) FROM detections WHERE subject = 'planner' AND event = 'lost'") == 1);
  CHECK(ask(folder.file(), "SELECT count(*) FROM detections WHERE subject IS NULL AND rule <> 'deadlock'") == 0);
  CHECK(ask(folder.file(), "SELECT count(*) FROM judgements") == 0);
}

TEST_CASE("version_4_relabels_the_lines_of_limits_and_of_semantics", "[archive]") {
  temporary_folder folder;
  copy_of(3, folder);
  CHECK(ask(folder.file(), "SELECT count(*) FROM entries WHERE kind = 'operator_mode'") == 7);
  bring_up_to_date(folder.file());
  CHECK(ask(folder.file(), "SELECT count(*) FROM entries WHERE kind = 'operator_mode' AND type = 'operator_mode'") ==
        4);
  CHECK(ask(folder.file(), "SELECT count(*) FROM entries WHERE kind = 'limit' AND type = 'limit'") == 2);
  CHECK(ask(folder.file(), "SELECT count(*) FROM entries WHERE kind = 'semantics' AND type = 'semantics'") == 1);
  CHECK(ask(folder.file(), "SELECT count(*) FROM entries WHERE kind IN ('operator_mode', 'limit', 'semantics')") == 7);
}

TEST_CASE("a_line_of_digds_own_that_cannot_be_parsed_keeps_its_kind", "[archive]") {
  temporary_folder folder;
  copy_of(3, folder);
  ask(folder.file(),
      "UPDATE entries SET frame = '{\"type\":\"limit\",' WHERE kind = 'operator_mode' AND type = 'limit'");
  bring_up_to_date(folder.file());
  CHECK(ask(folder.file(), "SELECT count(*) FROM entries WHERE kind = 'operator_mode'") == 6);
}

TEST_CASE("version_4_takes_the_new_kinds_and_no_others", "[archive]") {
  const int version = GENERATE(range(0, schema_version));  // 0: a new file
  temporary_folder folder;
  if (version > 0) copy_of(version, folder);
  {
    reports seen;
    auto a = open_archive(folder.file(), seen);
    const auto run = a->next_run_number();
    auto p = a->make_producer();
    push(*p, opening(run));
  }
  connection db;
  REQUIRE_FALSE(db.open(folder.file(), open_mode::read_write, {}));
  const std::string insertion =
      "INSERT INTO entries (run, n, kind, ts, arrived_ms) SELECT max(number), 9, '%', 1, 1 FROM runs";
  for (const std::string kind : {"operator_mode", "limit", "semantics", "message"}) {
    CHECK_FALSE(db.execute(std::string(insertion).replace(insertion.find('%'), 1, kind)));
  }
  CHECK(db.execute(std::string(insertion).replace(insertion.find('%'), 1, "nonsense")).primary() == SQLITE_CONSTRAINT);
}

TEST_CASE("a_migrated_run_distinguishes_the_operators_switch_from_a_limit", "[archive]") {
  temporary_folder folder;
  copy_of(3, folder);
  bring_up_to_date(folder.file());
  auto b = browser::open(folder.file());
  REQUIRE(b.has_value());
  const auto tally_of = [&](const char* run) {
    const auto found = (*b)->find(run);
    REQUIRE((found.has_value() && found->has_value()));
    const auto tally = (*b)->tally((**found).number);
    REQUIRE(tally.has_value());
    return *tally;
  };
  CHECK(tally_of("waiting").operator_mode == R"({"type":"operator_mode","mode":"enforce","ts":9000})");
  CHECK(tally_of("waiting").unjudged.empty());
  CHECK(tally_of("unjudged").unjudged == R"({"type":"limit","limit":"recipients","policy":"observe","ts":0})");
  CHECK(tally_of("forgetful").unjudged.empty());
  CHECK(tally_of("adopted").unjudged.empty());
}

TEST_CASE("a_run_of_an_earlier_file_goes_on_and_its_numbers_go_up", "[archive]") {
  temporary_folder folder;
  copy_of(1, folder);
  const auto highest = ask(folder.file(), "SELECT seq FROM sqlite_sequence WHERE name = 'entries'");
  reports seen;
  auto a = open_archive(folder.file(), seen);
  const auto runs = a->runs();
  REQUIRE(runs.has_value());
  REQUIRE(runs->size() == 4);
  CHECK((*runs)[0].ended == "success");
  CHECK((*runs)[1].ended.empty());
  CHECK(a->next_run_number() == 6);  // 5 was deleted
  const auto waiting = a->unanswered(2);
  REQUIRE(waiting.has_value());
  CHECK(waiting->size() == 3);
  const auto bytes = ask(folder.file(), "SELECT bytes FROM runs WHERE number = 2");
  auto p = a->make_producer();
  auto more = message(2, 5);
  more.n = 20;
  push(*p, more);
  REQUIRE(seen.wait_for_durable(2, 5));
  CHECK(ask(folder.file(), "SELECT max(id) FROM entries") == highest + 1);
  CHECK(ask(folder.file(), "SELECT bytes FROM runs WHERE number = 2") ==
        bytes + static_cast<std::int64_t>(more.frame.size()));
}

TEST_CASE("an_older_file_is_not_read_before_its_migration", "[archive]") {
  temporary_folder folder;
  copy_of(1, folder);
  std::string problem;
  auto r = reader::open(folder.file(), {}, &problem);
  REQUIRE_FALSE(r.has_value());
  CHECK(r.error() == archive_error::older_schema);
  CHECK(problem.find("start digd") != std::string::npos);
  auto b = browser::open(folder.file(), &problem);
  REQUIRE_FALSE(b.has_value());
  CHECK(b.error() == archive_error::older_schema);
  CHECK(version_of(folder.file()) == 1);
}

TEST_CASE("a_disk_that_fails_in_the_middle_of_a_migration_leaves_the_earlier_file", "[archive]") {
  auto [code, is_sync, only] = GENERATE(table<int, bool, std::string>({
      {SQLITE_FULL, false, "-wal"},
      {SQLITE_IOERR_WRITE, false, "-wal"},
      {SQLITE_IOERR_FSYNC, true, "-wal"},
      {SQLITE_FULL, false, ""},
  }));
  temporary_folder folder;
  const std::string before = copy_of(1, folder);
  faulty_disk disk;
  disk.characteristics = GENERATE(SQLITE_IOCAP_POWERSAFE_OVERWRITE, 0);
  options options;
  options.path = folder.file();
  options.vfs = disk.name();
  options.on_migration = [&, code = code, is_sync = is_sync, only = only](int, int) {
    is_sync ? disk.fail_syncs(code, only) : disk.fail_writes(code, only);
  };
  std::string problem;
  CHECK_FALSE(archive::open(options, {}, &problem).has_value());
  CHECK_FALSE(problem.empty());
  CHECK(disk.failed > 0);
  disk.work_again();
  CHECK(version_of(folder.file()) == 1);
  CHECK(everything_in(folder.file()) == before);
  bring_up_to_date(folder.file());
  CHECK(version_of(folder.file()) == schema_version);
  CHECK(everything_in(folder.file()) == before);
}

// Killed by its disk at the write that is `after` the first of the migration.
TEST_CASE("a_kill_during_a_migration_leaves_a_file_of_one_version", "[archive]") {
  const int characteristics = GENERATE(SQLITE_IOCAP_POWERSAFE_OVERWRITE, 0);
  bool was_earlier = false, was_done = false;
  for (int after = 0; after < 1'000 && !was_done; after += after < 8 ? 1 : 5) {
    temporary_folder folder;
    const std::string before = copy_of(1, folder);
    const pid_t child = ::fork();
    if (child == 0) {
      faulty_disk disk;
      disk.characteristics = characteristics;
      disk.die_after_writes = -1;
      options options;
      options.path = folder.file();
      options.vfs = disk.name();
      options.on_migration = [&](int, int) { disk.die_after_writes = after; };
      static_cast<void>(archive::open(options, {}).has_value());
      ::_exit(0);
    }
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    was_done = WIFEXITED(status);
    REQUIRE((was_done || (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)));
    const auto version = version_of(folder.file());
    CHECK((version >= 1 && version <= schema_version));
    was_earlier = was_earlier || version == 1;
    CHECK(everything_in(folder.file()) == before);
    bring_up_to_date(folder.file());
    CHECK(everything_in(folder.file()) == before);
  }
  CHECK(was_earlier);
  CHECK(was_done);
}

TEST_CASE("the_trace_of_a_run_is_the_same_before_and_after", "[archive]") {
  temporary_folder folder;
  copy_of(1, folder);
  bring_up_to_date(folder.file());
  const std::string trace = trace_of(folder.file(), 1);
  CHECK(trace.starts_with("{\"type\":\"hello\""));
  CHECK(std::count(trace.begin(), trace.end(), '\n') == 10);
  CHECK(trace.find("\"payload\": {\"n\": 1.5}") != std::string::npos);
}

}  // namespace digd::archive::testing
