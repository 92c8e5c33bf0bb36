#include "daemon/fleet/home_store.h"

#include <limits>

namespace digd::daemon {

namespace {

using archive::failure;
using archive::statement;

constexpr const char* home_schema = R"sql(
CREATE TABLE lease (       -- one row
  archive     TEXT NOT NULL,  -- the random name of the archive; '' in a new file
  incarnation TEXT NOT NULL   -- of the lease; '' if there was none
) STRICT;
INSERT INTO lease VALUES ('', '');
CREATE TABLE adopted (     -- runs that were taken over from another home
  number         INTEGER PRIMARY KEY,  -- in this archive
  epoch          INTEGER NOT NULL,
  origin_archive TEXT NOT NULL,        -- the first home's names for the run
  origin_number  INTEGER NOT NULL,
  kept           INTEGER               -- entries of earlier homes; NULL while they are being restored
) STRICT;
CREATE TABLE moved (       -- copies of runs whose home is elsewhere
  number INTEGER PRIMARY KEY
) STRICT;
)sql";

constexpr std::uint64_t all_entries = std::numeric_limits<std::int64_t>::max();

}  // namespace

failure home_store::open(const std::string& path, const std::string& archive_name) {
  const std::lock_guard lock(mutex_);
  failure failed = db_.open(path, archive::open_mode::create, {});
  if (!failed) failed = migrate();
  if (!failed) failed = db_.execute("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL");
  std::string stored;
  if (!failed) failed = db_.query("SELECT archive FROM lease", stored);
  if (failed || stored == archive_name) return failed ? failed : load();
  failed = db_.transaction([&] {
    failure wrong = db_.execute("DELETE FROM adopted; DELETE FROM moved");
    statement change;
    if (!wrong) wrong = db_.prepare("UPDATE lease SET archive = ?1, incarnation = ''", change);
    if (wrong) return wrong;
    change.bind(1, std::string_view(archive_name));
    return change.run();
  });
  return failed ? failed : load();
}

failure home_store::migrate() {
  std::int64_t id = 0, version = 0, objects = 0;
  failure failed = db_.query("PRAGMA application_id", id);
  if (!failed) failed = db_.query("PRAGMA user_version", version);
  if (!failed) failed = db_.query("SELECT count(*) FROM sqlite_schema", objects);
  if (failed || (id == application_id && version == schema_version)) return failed;
  if (id != 0 || objects > 0) return failure::wrong_file("another program, or another version of digd, wrote the file");
  return db_.transaction([&] {
    return db_.execute(std::string(home_schema) + "PRAGMA application_id = " + std::to_string(application_id) +
                       "; PRAGMA user_version = " + std::to_string(schema_version));
  });
}

failure home_store::load() {
  failure failed = db_.query("SELECT incarnation FROM lease", incarnation_);
  statement rows;
  if (!failed) failed = db_.prepare("SELECT number, epoch, origin_archive, origin_number, kept FROM adopted", rows);
  while (!failed && rows.step(failed)) {
    adopted_run run{.number = static_cast<std::uint64_t>(rows.integer(0)),
                    .epoch = static_cast<std::uint64_t>(rows.integer(1)),
                    .origin_archive = rows.text(2),
                    .origin_number = static_cast<std::uint64_t>(rows.integer(3)),
                    .kept = rows.is_null(4) ? all_entries : static_cast<std::uint64_t>(rows.integer(4)),
                    .is_complete = !rows.is_null(4)};
    adopted_[run.number] = run;
  }
  statement moved;
  if (!failed) failed = db_.prepare("SELECT number FROM moved", moved);
  while (!failed && moved.step(failed)) moved_.insert(static_cast<std::uint64_t>(moved.integer(0)));
  return failed;
}

std::string home_store::incarnation() const {
  const std::lock_guard lock(mutex_);
  return incarnation_;
}

failure home_store::set_incarnation(const std::string& incarnation) {
  const std::lock_guard lock(mutex_);
  if (incarnation == incarnation_) return {};
  statement change;
  failure failed = db_.prepare("UPDATE lease SET incarnation = ?1", change);
  if (failed) return failed;
  change.bind(1, std::string_view(incarnation));
  failed = change.run();
  if (!failed) incarnation_ = incarnation;
  return failed;
}

failure home_store::begin_adoption(const std::vector<adopted_run>& runs) {
  const std::lock_guard lock(mutex_);
  failure failed = db_.transaction([&] {
    statement add;
    failure wrong = db_.prepare(
        "INSERT OR REPLACE INTO adopted (number, epoch, origin_archive, origin_number) VALUES (?1, ?2, ?3, ?4)", add);
    for (const adopted_run& run : runs) {
      if (wrong) return wrong;
      add.bind(1, run.number);
      add.bind(2, run.epoch);
      add.bind(3, std::string_view(run.origin_archive));
      add.bind(4, run.origin_number);
      wrong = add.run();
    }
    return wrong;
  });
  if (failed) return failed;
  for (adopted_run run : runs) {
    run.kept = all_entries;
    run.is_complete = false;
    adopted_[run.number] = run;
  }
  return {};
}

failure home_store::complete_adoption(std::uint64_t number, std::uint64_t kept) {
  const std::lock_guard lock(mutex_);
  statement change;
  failure failed = db_.prepare("UPDATE adopted SET kept = ?2 WHERE number = ?1", change);
  if (failed) return failed;
  change.bind(1, number);
  change.bind(2, kept);
  failed = change.run();
  if (failed) return failed;
  adopted_[number].kept = kept;
  adopted_[number].is_complete = true;
  return {};
}

std::optional<adopted_run> home_store::adopted(std::uint64_t number) const {
  const std::lock_guard lock(mutex_);
  const auto found = adopted_.find(number);
  return found == adopted_.end() ? std::nullopt : std::optional(found->second);
}

std::vector<std::uint64_t> home_store::incomplete() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::uint64_t> numbers;
  for (const auto& [number, run] : adopted_) {
    if (!run.is_complete) numbers.push_back(number);
  }
  return numbers;
}

failure home_store::note_moved(std::uint64_t number) {
  const std::lock_guard lock(mutex_);
  moved_.insert(number);
  statement add;
  failure failed = db_.prepare("INSERT OR IGNORE INTO moved (number) VALUES (?1)", add);
  if (failed) return failed;
  add.bind(1, number);
  return add.run();
}

bool home_store::has_moved(std::uint64_t number) const {
  const std::lock_guard lock(mutex_);
  return moved_.contains(number);
}

failure home_store::forget(std::uint64_t number) {
  const std::lock_guard lock(mutex_);
  if (!moved_.contains(number) && !adopted_.contains(number)) return {};
  failure failed = db_.transaction([&] {
    return db_.execute("DELETE FROM moved WHERE number = " + std::to_string(number) +
                       "; DELETE FROM adopted WHERE number = " + std::to_string(number));
  });
  if (failed) return failed;
  moved_.erase(number);
  adopted_.erase(number);
  return {};
}

}  // namespace digd::daemon
