#include "daemon/fleet/publish_store.h"

#include <utility>

#include "base/entropy.h"

namespace digd::daemon {

namespace {

using archive::failure;
using archive::statement;

constexpr const char* publish_schema = R"sql(
CREATE TABLE position (    -- one row: the last rows of the archive that the stream has
  archive      TEXT NOT NULL,  -- random; the ids of all messages begin with it
  entry        INTEGER NOT NULL,
  detection    INTEGER NOT NULL,
  intervention INTEGER NOT NULL,
  outcome      INTEGER NOT NULL
) STRICT;
CREATE TABLE runs (        -- runs with published entries, until their deletion is published
  number INTEGER PRIMARY KEY
) STRICT;
)sql";

std::string first_position() { return "INSERT INTO position VALUES ('" + random_hex(16) + "', 0, 0, 0, 0);"; }

}  // namespace

failure publish_store::open(const std::string& path) {
  failure failed = db_.open(path, archive::open_mode::create, {});
  if (!failed) failed = migrate();
  if (!failed) failed = db_.execute("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL");
  const std::pair<statement*, std::string_view> statements[] = {
      {&move_, "UPDATE position SET entry = ?1, detection = ?2, intervention = ?3, outcome = ?4"},
      {&add_run_, "INSERT OR IGNORE INTO runs (number) VALUES (?1)"},
      {&remove_run_, "DELETE FROM runs WHERE number = ?1"},
  };
  for (const auto& [prepared, sql] : statements) {
    if (!failed) failed = db_.prepare(sql, *prepared);
  }
  return failed ? failed : read_position();
}

failure publish_store::migrate() {
  std::int64_t id = 0, version = 0, objects = 0;
  failure failed = db_.query("PRAGMA application_id", id);
  if (!failed) failed = db_.query("PRAGMA user_version", version);
  if (!failed) failed = db_.query("SELECT count(*) FROM sqlite_schema", objects);
  if (failed || (id == application_id && version == schema_version)) return failed;
  if (id != 0 || objects > 0) return failure::wrong_file("another program, or another version of digd, wrote the file");
  return db_.transaction([&] {
    return db_.execute(publish_schema + first_position() + "PRAGMA application_id = " + std::to_string(application_id) +
                       "; PRAGMA user_version = " + std::to_string(schema_version));
  });
}

failure publish_store::read_position() {
  statement row;
  failure failed = db_.prepare("SELECT archive, entry, detection, intervention, outcome FROM position", row);
  if (!failed && row.step(failed)) {
    archive_ = row.text(0);
    position_ = {row.integer(1), row.integer(2), row.integer(3), row.integer(4)};
  }
  return failed;
}

failure publish_store::move(const archive::stream_position& position,
                            std::span<const archive::streamed_entry> published) {
  failure failed = db_.transaction([&] {
    failure wrong;
    std::int64_t last = 0;
    for (const archive::streamed_entry& entry : published) {
      if (wrong || entry.run_number == last) continue;
      add_run_.bind(1, last = entry.run_number);
      wrong = add_run_.run();
    }
    move_.bind(1, position.entry);
    move_.bind(2, position.detection);
    move_.bind(3, position.intervention);
    move_.bind(4, position.outcome);
    return wrong ? wrong : move_.run();
  });
  if (!failed) position_ = position;
  return failed;
}

failure publish_store::runs(std::vector<std::int64_t>& numbers) {
  statement rows;
  failure failed = db_.prepare("SELECT number FROM runs ORDER BY number", rows);
  while (!failed && rows.step(failed)) numbers.push_back(rows.integer(0));
  return failed;
}

failure publish_store::remove_run(std::int64_t number) {
  remove_run_.bind(1, number);
  return remove_run_.run();
}

failure publish_store::restart() {
  failure failed =
      db_.transaction([&] { return db_.execute("DELETE FROM runs; DELETE FROM position;" + first_position()); });
  return failed ? failed : read_position();
}

}  // namespace digd::daemon
