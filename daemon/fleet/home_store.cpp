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
  const std::lock_guard lock(db_mutex_);
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
  std::int64_t id = 0, version = 0, objects = 0, own_tables = 0;
  failure failed = db_.query("PRAGMA application_id", id);
  if (!failed) failed = db_.query("PRAGMA user_version", version);
  if (!failed) failed = db_.query("SELECT count(*) FROM sqlite_schema", objects);
  if (!failed) {
    failed = db_.query("SELECT count(*) FROM sqlite_schema WHERE name IN ('lease', 'adopted', 'moved')", own_tables);
  }
  if (failed) return failed;
  const std::string set_id = "PRAGMA application_id = " + std::to_string(application_id);
  if (objects == 0 && id == 0) {
    return db_.transaction([&] {
      return db_.execute(home_schema + set_id + "; PRAGMA user_version = " + std::to_string(schema_version));
    });
  }
  const bool is_former = own_tables == 3 && (id == former_application_id || id == 0);
  if (id != application_id && !is_former) {
    return failure::wrong_file("another program, or another part of digd, wrote the file");
  }
  if (version != schema_version) {
    return failure::wrong_file("another version of digd wrote the file: expected version " +
                               std::to_string(schema_version) + ", got " + std::to_string(version));
  }
  return is_former ? db_.execute(set_id) : failure();
}

failure home_store::load() {
  const std::lock_guard lock(mutex_);
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
  if (incarnation == this->incarnation()) return {};
  const std::lock_guard db_lock(db_mutex_);
  statement change;
  failure failed = db_.prepare("UPDATE lease SET incarnation = ?1", change);
  if (failed) return failed;
  change.bind(1, std::string_view(incarnation));
  failed = change.run();
  if (failed) return failed;
  const std::lock_guard lock(mutex_);
  incarnation_ = incarnation;
  return {};
}

failure home_store::begin_adoption(const std::vector<adopted_run>& runs) {
  const std::lock_guard db_lock(db_mutex_);
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
  const std::lock_guard lock(mutex_);
  for (adopted_run run : runs) {
    run.kept = all_entries;
    run.is_complete = false;
    adopted_[run.number] = run;
  }
  return {};
}

failure home_store::complete_adoption(std::uint64_t number, std::uint64_t kept) {
  const std::lock_guard db_lock(db_mutex_);
  statement change;
  failure failed = db_.prepare("UPDATE adopted SET kept = ?2 WHERE number = ?1", change);
  if (failed) return failed;
  change.bind(1, number);
  change.bind(2, kept);
  failed = change.run();
  if (failed) return failed;
  const std::lock_guard lock(mutex_);
  adopted_[number].kept = kept;
  adopted_[number].is_complete = true;
  return {};
}

std::optional<adopted_run> home_store::adopted(std::uint64_t number) const {
  const std::lock_guard lock(mutex_);
  const auto found = adopted_.find(number);
  return found == adopted_.end() ? std::nullopt : std::optional(found->second);
}

bool home_store::is_incomplete(std::uint64_t number) const {
  const auto found = adopted(number);
  return found && !found->is_complete;
}

std::vector<std::uint64_t> home_store::incomplete() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::uint64_t> numbers;
  for (const auto& [number, run] : adopted_) {
    if (!run.is_complete) numbers.push_back(number);
  }
  return numbers;
}

void home_store::note_moved(std::uint64_t number) {
  const std::lock_guard lock(mutex_);
  if (moved_.insert(number).second) unsaved_.insert(number);
}

bool home_store::has_moved(std::uint64_t number) const {
  const std::lock_guard lock(mutex_);
  return moved_.contains(number);
}

failure home_store::save_moved() {
  const std::lock_guard db_lock(db_mutex_);
  boost::unordered_flat_set<std::uint64_t> unsaved;
  {
    const std::lock_guard lock(mutex_);
    unsaved = unsaved_;
  }
  if (unsaved.empty()) return {};
  failure failed = db_.transaction([&] {
    statement add;
    failure wrong = db_.prepare("INSERT OR IGNORE INTO moved (number) VALUES (?1)", add);
    for (const std::uint64_t number : unsaved) {
      if (wrong) return wrong;
      add.bind(1, number);
      wrong = add.run();
    }
    return wrong;
  });
  if (failed) return failed;
  const std::lock_guard lock(mutex_);
  for (const std::uint64_t number : unsaved) unsaved_.erase(number);
  return {};
}

failure home_store::forget(std::uint64_t number) {
  const std::lock_guard db_lock(db_mutex_);
  {
    const std::lock_guard lock(mutex_);
    if (!moved_.contains(number) && !adopted_.contains(number)) return {};
  }
  failure failed = db_.transaction([&] {
    return db_.execute("DELETE FROM moved WHERE number = " + std::to_string(number) +
                       "; DELETE FROM adopted WHERE number = " + std::to_string(number));
  });
  if (failed) return failed;
  const std::lock_guard lock(mutex_);
  moved_.erase(number);
  unsaved_.erase(number);
  adopted_.erase(number);
  return {};
}

}  // namespace digd::daemon
