#include "archive/schema.h"

#include <sqlite3.h>

#include <array>
#include <cstring>

#include "archive/schema_v1.h"
#include "archive/schema_v2.h"
#include "archive/schema_v3.h"
#include "archive/schema_v4.h"
#include "archive/schema_v5.h"

namespace digd::archive {

namespace {

struct migration {
  int to;
  const char* sql;
};

// One step for each version, in order. A released step never changes. A file of version v gets the steps with `to` > v.
constexpr std::array migrations{migration{1, schema_v1}, migration{2, schema_v2}, migration{3, schema_v3},
                                migration{4, schema_v4}, migration{5, schema_v5}};
static_assert(migrations.back().to == schema_version);

constexpr int busy_ms = 2'000;  // while SQLite recovers the log
constexpr std::size_t header_bytes = 100;
constexpr std::size_t application_id_at = 68;  // https://www.sqlite.org/fileformat.html, section 1.3

sqlite3_file* file_of(connection& db) {
  sqlite3_file* file = nullptr;
  sqlite3_file_control(db.get(), "main", SQLITE_FCNTL_FILE_POINTER, &file);
  return file != nullptr && file->pMethods != nullptr ? file : nullptr;
}

// SQLite does not recognise the file as a database. If its header has our id, it is a damaged archive.
bool header_names_us(connection& db) {
  std::array<unsigned char, header_bytes> header{};
  auto* file = file_of(db);
  if (file == nullptr || file->pMethods->xRead(file, header.data(), header_bytes, 0) != SQLITE_OK) return false;
  std::int64_t id = 0;
  for (std::size_t i = 0; i < 4; ++i) id = id << 8 | header[application_id_at + i];
  return id == application_id;
}

}  // namespace

open_trouble recognise(connection& db, bool& is_new) {
  is_new = false;
  std::int64_t id = 0, version = 0, objects = 0;
  failure failed = db.query("PRAGMA application_id", id);
  if (!failed) failed = db.query("PRAGMA user_version", version);
  if (!failed) failed = db.query("SELECT count(*) FROM sqlite_schema", objects);
  if (failed.primary() == SQLITE_NOTADB && header_names_us(db)) {
    return {archive_error::corrupt, "the beginning of the file is damaged"};
  }
  if (failed) return failed;
  if (id == 0 && version == 0 && objects == 0) {
    is_new = true;
    return {};
  }
  if (id != application_id) {
    return {archive_error::not_an_archive, "the file is an SQLite database of another program"};
  }
  if (version > schema_version) {
    return {archive_error::newer_schema, "the file has schema version " + std::to_string(version) +
                                             ", this digd knows up to " + std::to_string(schema_version)};
  }
  if (version < 1) return {archive_error::corrupt, "the file has no schema version"};
  return {};
}

open_trouble open_to_read(connection& db, const std::string& path, const std::string& vfs) {
  if (failure failed = db.open(path, open_mode::read_only, vfs)) return failed;
  db.set_busy_timeout(busy_ms);
  bool is_new = false;
  if (auto found = recognise(db, is_new)) return found;
  if (is_new) return {archive_error::not_an_archive, "the file is empty"};
  std::int64_t version = 0;
  if (failure failed = db.query("PRAGMA user_version", version)) return failed;
  if (version == schema_version) return {};
  return {archive_error::older_schema, "the file has schema version " + std::to_string(version) +
                                           ", and programs that only read need " + std::to_string(schema_version) +
                                           ": start digd on it once to migrate it"};
}

namespace {

open_trouble take_step(connection& db, const migration& step) {
  const std::string sql = std::string("BEGIN IMMEDIATE;\n") + step.sql +
                          "PRAGMA application_id = " + std::to_string(application_id) + ";\n" +
                          "PRAGMA user_version = " + std::to_string(step.to) + ";\nCOMMIT;";
  failure failed = db.execute(sql);
  if (failed && db.in_transaction()) static_cast<void>(db.execute("ROLLBACK"));
  return failed;
}

}  // namespace

boost::system::error_code open_reader(connection& db, const std::string& path, const std::string& vfs,
                                      const std::function<failure()>& prepare, std::string* problem) {
  open_trouble found = open_to_read(db, path, vfs);
  if (!found) found = prepare();
  if (!found) return {};
  if (problem != nullptr) *problem = found.words;
  return make_error_code(found.error);
}

open_trouble migrate(connection& db, bool is_new, const std::function<void(int from, int to)>& before) {
  if (is_new) {
    // Both must be set before the first page. Incremental vacuum lets the file shrink after deletions.
    failure failed =
        db.execute("PRAGMA page_size = " + std::to_string(page_size) + "; PRAGMA auto_vacuum = INCREMENTAL");
    if (failed) return failed;
  }
  std::string mode;
  if (failure failed = db.query("PRAGMA journal_mode = WAL", mode)) return failed;
  if (mode != "wal") {
    return {archive_error::cannot_open, "the file system does not support SQLite's write-ahead log"};
  }
  std::int64_t version = 0;
  if (failure failed = db.query("PRAGMA user_version", version)) return failed;
  for (const auto& step : migrations) {
    if (step.to <= version) continue;
    if (before && !is_new) before(step.to - 1, step.to);
    if (auto found = take_step(db, step)) return found;
  }
  return {};
}

open_trouble find_damage(connection& db, std::int64_t check_bytes) {
  std::int64_t tables = 0, pages = 0, bytes_a_page = 0;
  failure failed = db.query(
      "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name IN "
      "('runs', 'entries', 'detections', 'interventions', 'outcomes', 'judgements')",
      tables);
  if (!failed) failed = db.query("PRAGMA page_count", pages);
  if (!failed) failed = db.query("PRAGMA page_size", bytes_a_page);
  if (failed) return failed;
  if (tables != 6) return {archive_error::corrupt, "tables are missing"};
  if (pages * bytes_a_page > check_bytes) return {};
  std::string found;
  if (failure fault = db.query("PRAGMA quick_check(1)", found)) return fault;
  if (found != "ok") return {archive_error::corrupt, "the file is damaged (" + found + ")"};
  return {};
}

}  // namespace digd::archive
