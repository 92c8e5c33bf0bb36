// The file layer that gathers the writes of the log.
#include "archive/log_vfs.h"

#include <catch2/catch.hpp>

#include "archive/sqlite.h"
#include "tests/archive/faulty_disk.h"
#include "tests/archive/support.h"

namespace digd::archive::testing {

namespace {

// A disk and a connection that writes to it through the layer.
struct layered_file {
  explicit layered_file(int characteristics = SQLITE_IOCAP_POWERSAFE_OVERWRITE) {
    disk.characteristics = characteristics;
    REQUIRE_FALSE(db.open(path, open_mode::create, log_vfs(disk.name())));
  }

  temporary_folder folder;
  faulty_disk disk;
  const std::string path = folder.file();
  connection db;
};

constexpr int rows = 500;
constexpr std::size_t row_bytes = 4'000;  // one row a page

// Inserts rows in one transaction and returns the number of writes to the log.
std::uint64_t writes_of_a_transaction(faulty_disk& disk, connection& db) {
  REQUIRE_FALSE(
      db.execute("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = 0;"
                 "CREATE TABLE IF NOT EXISTS t (text TEXT)"));
  const std::uint64_t before = disk.log_writes;
  REQUIRE_FALSE(db.transaction([&] {
    failure failed;
    for (int i = 0; i < rows && !failed; ++i) {
      failed = db.execute("INSERT INTO t VALUES ('" + std::string(row_bytes, static_cast<char>('a' + i % 26)) + "')");
    }
    return failed;
  }));
  return disk.log_writes - before;
}

// As another connection sees them, without the layer.
std::int64_t rows_seen(const std::string& path, faulty_disk& disk) {
  connection reader;
  REQUIRE_FALSE(reader.open(path, open_mode::read_only, disk.name()));
  std::int64_t count = 0;
  REQUIRE_FALSE(reader.query("SELECT count(*) FROM t WHERE length(text) = " + std::to_string(row_bytes), count));
  return count;
}

}  // namespace

TEST_CASE("a_transaction_reaches_the_log_in_few_writes_and_others_see_it_once_it_is_synced", "[archive]") {
  layered_file file;
  auto& [folder, disk, path, db] = file;

  const std::uint64_t writes = writes_of_a_transaction(disk, db);
  CHECK(writes >= rows * row_bytes / max_gathered_bytes);
  CHECK(writes < rows / 10);
  CHECK(rows_seen(path, disk) == rows);

  // After a checkpoint the log begins again at its start.
  REQUIRE_FALSE(db.execute("PRAGMA wal_checkpoint(TRUNCATE)"));
  CHECK(rows_seen(path, disk) == rows);
  CHECK(writes_of_a_transaction(disk, db) < rows / 10);
  CHECK(rows_seen(path, disk) == 2 * rows);
}

TEST_CASE("a_disk_that_tears_neighbouring_bytes_gets_each_write_at_once", "[archive]") {
  layered_file file(0);
  auto& [folder, disk, path, db] = file;
  CHECK(writes_of_a_transaction(disk, db) >= 2 * rows);  // a frame's header and its page
  CHECK(rows_seen(path, disk) == rows);
}

TEST_CASE("a_gathered_write_that_fails_fails_the_commit_and_damages_nothing", "[archive]") {
  layered_file file;
  auto& [folder, disk, path, db] = file;
  REQUIRE(writes_of_a_transaction(disk, db) > 0);

  disk.fail_writes(SQLITE_FULL, "-wal");
  CHECK(db.transaction([&] { return db.execute("INSERT INTO t VALUES ('x')"); }));
  CHECK(db.transaction([&] { return db.execute("DELETE FROM t"); }));
  CHECK(rows_seen(path, disk) == rows);

  disk.work_again();
  CHECK_FALSE(db.transaction([&] { return db.execute("DELETE FROM t WHERE rowid <= 100"); }));
  CHECK(rows_seen(path, disk) == rows - 100);
  std::string found;
  REQUIRE_FALSE(db.query("PRAGMA integrity_check", found));
  CHECK(found == "ok");
}

TEST_CASE("an_unknown_layer_is_an_error_in_sqlites_words", "[archive]") {
  temporary_folder folder;
  connection db;
  const failure failed = db.open(folder.file("none.db"), open_mode::create, log_vfs("no-such-layer"));
  CHECK(failed);
}

}  // namespace digd::archive::testing
