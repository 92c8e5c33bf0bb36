// A plain SQLite program: the baseline of the archive. It inserts rows of the same columns, under the same index, into
// a file that is synced at each commit.
//
// Use it from one thread. Throws std::runtime_error on failure.
#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <string_view>

namespace digd::bench {

class plain_table {
 public:
  // Makes the file, which must not exist.
  explicit plain_table(const std::filesystem::path& file) {
    check(sqlite3_open(file.c_str(), &db_));
    run("PRAGMA page_size = 4096; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;"
        "CREATE TABLE entries (id INTEGER PRIMARY KEY, run INTEGER NOT NULL, n INTEGER NOT NULL, kind TEXT NOT NULL, "
        "session TEXT,"
        " seq INTEGER, ts INTEGER NOT NULL, arrived_ms INTEGER NOT NULL, type TEXT, code TEXT, verdicts TEXT, frame "
        "TEXT) STRICT;"
        "CREATE INDEX entries_by_run ON entries (run);");
    check(sqlite3_prepare_v2(
        db_,
        "INSERT INTO entries (run, n, kind, session, seq, ts, arrived_ms, type, code, verdicts, frame)"
        " VALUES (1, ?1, 'message', 'main', ?2, ?3, ?4, 'event', NULL, ?5, ?6)",
        -1, &insert_, nullptr));
  }
  plain_table(const plain_table&) = delete;
  plain_table& operator=(const plain_table&) = delete;
  ~plain_table() {
    sqlite3_finalize(insert_);
    sqlite3_close(db_);
  }

  void begin() { run("BEGIN"); }
  void insert(std::string_view frame, std::string_view verdicts) {
    const auto seq = static_cast<sqlite3_int64>(++seq_);
    for (int at = 1; at <= 4; ++at) sqlite3_bind_int64(insert_, at, seq);
    sqlite3_bind_text(insert_, 5, verdicts.data(), static_cast<int>(verdicts.size()), SQLITE_STATIC);
    sqlite3_bind_text(insert_, 6, frame.data(), static_cast<int>(frame.size()), SQLITE_STATIC);
    if (sqlite3_step(insert_) != SQLITE_DONE) check(SQLITE_ERROR);
    sqlite3_reset(insert_);
  }
  void commit() { run("COMMIT"); }

 private:
  void check(int rc) {
    if (rc != SQLITE_OK) throw std::runtime_error(std::string("the plain program: ") + sqlite3_errmsg(db_));
  }
  void run(const char* sql) { check(sqlite3_exec(db_, sql, nullptr, nullptr, nullptr)); }

  sqlite3* db_ = nullptr;
  sqlite3_stmt* insert_ = nullptr;
  std::uint64_t seq_ = 0;
};

}  // namespace digd::bench
