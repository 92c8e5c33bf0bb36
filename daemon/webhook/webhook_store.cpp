#include "daemon/webhook/webhook_store.h"

#include <utility>

#include "base/entropy.h"

namespace digd::daemon {

namespace {

using archive::failure;
using archive::statement;

constexpr int busy_ms = 2'000;  // an operator may have the file open in sqlite3

constexpr const char* identity_table =
    "CREATE TABLE identity (prefix TEXT NOT NULL) STRICT;  -- random; all ids of callbacks begin with it\n";
constexpr const char* webhook_schema = R"sql(
CREATE TABLE webhooks (
  name         TEXT PRIMARY KEY,
  detection    INTEGER NOT NULL,  -- the last detections.id of the archive that the webhook has read
  intervention INTEGER NOT NULL,  -- the last interventions.row of the archive that the webhook has read
  run          INTEGER NOT NULL   -- the highest runs.number that [otlp_export] has looked at; -1: none yet
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
)sql";
constexpr const char* awaited_runs_schema = R"sql(
CREATE TABLE awaited_runs (       -- runs up to webhooks.run whose end [otlp_export] has not found
  run     INTEGER NOT NULL,       -- runs.number: an open run, or a number that the archive lacks
  webhook TEXT NOT NULL REFERENCES webhooks (name) ON DELETE CASCADE,
  PRIMARY KEY (run, webhook)
) STRICT, WITHOUT ROWID;
)sql";

constexpr const char* callback_columns = "id, run, kind, row, rule, since_ms, attempts";

// From version 1, which knew no ends of runs. SQLite cannot change a CHECK, so the table is copied.
constexpr const char* from_version_1 = R"sql(
ALTER TABLE webhooks RENAME TO webhooks_1;
ALTER TABLE callbacks RENAME TO callbacks_1;
DROP INDEX callbacks_by_webhook;
DROP INDEX callbacks_by_run;
)sql";
constexpr const char* copy_version_1 = R"sql(
INSERT INTO webhooks SELECT name, detection, intervention, -1 FROM webhooks_1;
INSERT INTO callbacks SELECT * FROM callbacks_1;
DROP TABLE callbacks_1;
DROP TABLE webhooks_1;
)sql";

// From version 2, which found the ends of runs by their times. [otlp_export] continues behind the last of these.
constexpr const char* from_version_2 = R"sql(
ALTER TABLE webhooks ADD COLUMN run INTEGER NOT NULL DEFAULT -1
  /* the highest runs.number that [otlp_export] has looked at; -1: none yet. Below -1: none yet, but version 2 has
     exported the ends until -1 - run (Unix milliseconds) */;
UPDATE webhooks SET run = -1 - run_end_ms WHERE run_end_ms > 0;
ALTER TABLE webhooks DROP COLUMN run_end_ms;
)sql";

std::string_view name_of(archive::callback_kind kind) { return digd::to_string(kind); }

archive::callback_kind kind_of(std::string_view name) {
  if (name == "run") return archive::callback_kind::run;
  return name == "detection" ? archive::callback_kind::detection : archive::callback_kind::intervention;
}

stored_callback callback_from(const statement& row) {
  return {.id = row.integer(0),
          .run_number = static_cast<std::uint64_t>(row.integer(1)),
          .kind = kind_of(row.text(2)),
          .row = row.integer(3),
          .rule = row.text(4),
          .since_ms = row.integer(5),
          .attempts = row.integer(6)};
}

}  // namespace

failure webhook_store::open(const std::string& path) {
  failure failed = db_.open(path, archive::open_mode::create, {});
  if (failed) return failed;
  db_.set_busy_timeout(busy_ms);
  failed = migrate();
  if (!failed) {
    failed = db_.execute(
        "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA foreign_keys = ON;"
        "PRAGMA journal_size_limit = 16777216");
  }
  if (!failed) failed = prepare();
  if (!failed) failed = read_prefix();
  if (failed) close();
  return failed;
}

void webhook_store::close() {
  for (statement* statement : {&webhooks_, &add_, &move_, &remove_webhook_, &insert_, &waiting_, &set_attempts_,
                               &remove_callback_, &make_dead_, &trim_, &dead_letters_, &dead_count_, &runs_,
                               &remove_run_, &await_, &settle_, &awaited_, &forget_}) {
    *statement = {};
  }
  db_.close();
}

failure webhook_store::migrate() {
  std::int64_t id = 0, version = 0, objects = 0;
  failure failed = db_.query("PRAGMA application_id", id);
  if (!failed) failed = db_.query("PRAGMA user_version", version);
  if (!failed) failed = db_.query("SELECT count(*) FROM sqlite_schema", objects);
  if (failed) return failed;
  if (id == application_id && version == schema_version) return {};
  std::string sql;
  if (id == application_id && version == 1) {
    sql = from_version_1 + std::string(webhook_schema) + copy_version_1 + awaited_runs_schema;
  } else if (id == application_id && version == 2) {
    sql = from_version_2 + std::string(awaited_runs_schema);
  } else if (id == application_id) {
    return failure::wrong_file("the file has schema version " + std::to_string(version) + ", this digd knows " +
                               std::to_string(schema_version));
  } else if (objects > 0 || id != 0) {
    return failure::wrong_file("the file is an SQLite database of another program");
  } else {
    sql = identity_table + std::string(webhook_schema) + awaited_runs_schema +
          "INSERT INTO identity (prefix) VALUES ('" + random_hex(16) + "'); ";
  }
  return db_.transaction([&] {
    return db_.execute(sql + "PRAGMA application_id = " + std::to_string(application_id) +
                       "; PRAGMA user_version = " + std::to_string(schema_version));
  });
}

failure webhook_store::prepare() {
  const std::string columns = callback_columns;
  const std::pair<statement*, std::string> statements[] = {
      {&webhooks_, "SELECT name, detection, intervention, run FROM webhooks ORDER BY name"},
      {&add_, "INSERT INTO webhooks (name, detection, intervention, run) VALUES (?1, ?2, ?3, ?4)"},
      {&move_, "UPDATE webhooks SET detection = ?2, intervention = ?3, run = ?4 WHERE name = ?1"},
      {&remove_webhook_, "DELETE FROM webhooks WHERE name = ?1"},  // its callbacks go by cascade
      {&insert_,
       "INSERT INTO callbacks (webhook, run, kind, row, rule, since_ms, attempts) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)"},
      {&waiting_, "SELECT " + columns + " FROM callbacks WHERE webhook = ?1 AND (died_ms IS NULL) = 1 ORDER BY id"},
      {&set_attempts_, "UPDATE callbacks SET attempts = ?2 WHERE id = ?1"},
      {&remove_callback_, "DELETE FROM callbacks WHERE id = ?1"},
      {&make_dead_, "UPDATE callbacks SET died_ms = ?2, why = ?3, attempts = ?4 WHERE id = ?1"},
      {&trim_,
       "DELETE FROM callbacks WHERE id IN (SELECT id FROM callbacks WHERE webhook = ?1 AND (died_ms IS NULL) = 0"
       " ORDER BY died_ms DESC, id DESC LIMIT -1 OFFSET ?2)"},
      {&dead_letters_, "SELECT " + columns +
                           ", died_ms, why FROM callbacks WHERE webhook = ?1 AND (died_ms IS NULL) = 0 AND id > ?2"
                           " ORDER BY id LIMIT ?3"},
      {&dead_count_, "SELECT count(*) FROM callbacks WHERE webhook = ?1 AND (died_ms IS NULL) = 0"},
      {&runs_, "SELECT DISTINCT run FROM callbacks"},
      {&remove_run_, "DELETE FROM callbacks WHERE run = ?1"},
      {&await_, "INSERT OR IGNORE INTO awaited_runs (run, webhook) VALUES (?1, ?2)"},
      {&settle_, "DELETE FROM awaited_runs WHERE run = ?1 AND webhook = ?2"},
      {&awaited_, "SELECT run FROM awaited_runs WHERE webhook = ?1"},
      {&forget_, "DELETE FROM awaited_runs WHERE run = ?1"},
  };
  failure failed;
  for (const auto& [prepared, sql] : statements) {
    if (!failed) failed = db_.prepare(sql, *prepared);
  }
  return failed;
}

failure webhook_store::read_prefix() { return db_.query("SELECT prefix FROM identity", prefix_); }

failure webhook_store::clear() {
  failure failed = db_.transaction([&] {
    return db_.execute("DELETE FROM callbacks; DELETE FROM webhooks; UPDATE identity SET prefix = '" + random_hex(16) +
                       "'");
  });
  return failed ? failed : read_prefix();
}

// ---- positions in the archive

failure webhook_store::webhooks(std::vector<webhook_position>& out) {
  failure failed;
  while (webhooks_.step(failed))
    out.push_back({webhooks_.text(0), {webhooks_.integer(1), webhooks_.integer(2), webhooks_.integer(3)}});
  webhooks_.reset();
  return failed;
}

failure webhook_store::add_webhook(const std::string& name, const archive::callback_position& at) {
  add_.bind(1, std::string_view(name));
  add_.bind(2, at.detection);
  add_.bind(3, at.intervention);
  add_.bind(4, at.run);
  return add_.run();
}

failure webhook_store::remove_webhook(const std::string& name) {
  remove_webhook_.bind(1, std::string_view(name));
  return remove_webhook_.run();
}

failure webhook_store::add_callbacks(const std::string& name, const archive::callback_position& upto,
                                     std::vector<stored_callback>& callbacks, const run_changes& runs) {
  return db_.transaction([&] {
    failure failed;
    for (stored_callback& callback : callbacks) {
      if (!failed) failed = insert(name, callback);
    }
    return failed ? failed : move(name, upto, runs);
  });
}

failure webhook_store::move(const std::string& name, const archive::callback_position& upto, const run_changes& runs) {
  const auto change = [&](statement& each, const std::vector<std::uint64_t>& numbers) {
    failure failed;
    for (const std::uint64_t number : numbers) {
      if (failed) break;
      each.bind(1, number);
      each.bind(2, std::string_view(name));
      failed = each.run();
    }
    return failed;
  };
  failure failed = change(await_, runs.awaited);
  if (!failed) failed = change(settle_, runs.settled);
  if (failed) return failed;
  move_.bind(1, std::string_view(name));
  move_.bind(2, upto.detection);
  move_.bind(3, upto.intervention);
  move_.bind(4, upto.run);
  return move_.run();
}

failure webhook_store::awaited_runs(const std::string& name, std::vector<std::uint64_t>& out) {
  awaited_.bind(1, std::string_view(name));
  failure failed;
  while (awaited_.step(failed)) out.push_back(static_cast<std::uint64_t>(awaited_.integer(0)));
  awaited_.reset();
  return failed;
}

failure webhook_store::insert(const std::string& name, stored_callback& callback) {
  insert_.bind(1, std::string_view(name));
  insert_.bind(2, callback.run_number);
  insert_.bind(3, name_of(callback.kind));
  insert_.bind(4, callback.row);
  insert_.bind(5, std::string_view(callback.rule));
  insert_.bind(6, callback.since_ms);
  insert_.bind(7, callback.attempts);
  failure failed = insert_.run();
  if (!failed) callback.id = db_.last_inserted_row();
  return failed;
}

// ---- waiting callbacks

failure webhook_store::waiting(const std::string& name, std::vector<stored_callback>& out) {
  waiting_.bind(1, std::string_view(name));
  failure failed;
  while (waiting_.step(failed)) out.push_back(callback_from(waiting_));
  waiting_.reset();
  return failed;
}

failure webhook_store::set_attempts(std::int64_t id, std::int64_t attempts) {
  set_attempts_.bind(1, id);
  set_attempts_.bind(2, attempts);
  return set_attempts_.run();
}

failure webhook_store::remove_callback(std::int64_t id) {
  remove_callback_.bind(1, id);
  return remove_callback_.run();
}

// ---- dead letters

failure webhook_store::make_dead(const std::string& name, const stored_callback& callback, std::int64_t now_ms,
                                 const std::string& reason, std::int64_t keep, std::int64_t& dropped) {
  dropped = 0;
  return db_.transaction([&] {
    make_dead_.bind(1, callback.id);
    make_dead_.bind(2, now_ms);
    make_dead_.bind(3, std::string_view(reason));
    make_dead_.bind(4, callback.attempts);
    failure failed = make_dead_.run();
    if (failed) return failed;
    trim_.bind(1, std::string_view(name));
    trim_.bind(2, keep);
    failed = trim_.run();
    if (!failed) dropped = db_.changed_rows();
    return failed;
  });
}

failure webhook_store::dead_letters(const std::string& name, std::int64_t after, std::uint64_t limit,
                                    std::vector<dead_letter>& out) {
  dead_letters_.bind(1, std::string_view(name));
  dead_letters_.bind(2, after);
  dead_letters_.bind(3, limit);
  failure failed;
  while (dead_letters_.step(failed))
    out.push_back({callback_from(dead_letters_), dead_letters_.integer(7), dead_letters_.text(8)});
  dead_letters_.reset();
  return failed;
}

failure webhook_store::dead_count(const std::string& name, std::int64_t& count) {
  count = 0;
  dead_count_.bind(1, std::string_view(name));
  failure failed;
  if (dead_count_.step(failed)) count = dead_count_.integer(0);
  dead_count_.reset();
  return failed;
}

failure webhook_store::revive(const std::string& name, std::int64_t now_ms, std::uint64_t limit,
                              std::vector<stored_callback>& out) {
  std::vector<stored_callback> revived;
  failure fault = db_.transaction([&] {
    std::vector<dead_letter> oldest;
    failure failed = dead_letters(name, 0, limit, oldest);
    for (dead_letter& dead_letter : oldest) {
      if (!failed) failed = remove_callback(dead_letter.callback.id);
      dead_letter.callback.since_ms = now_ms;
      dead_letter.callback.attempts = 0;
      if (!failed) failed = insert(name, dead_letter.callback);
      revived.push_back(std::move(dead_letter.callback));
    }
    return failed;
  });
  if (!fault) out = std::move(revived);
  return fault;
}

// ---- runs

failure webhook_store::runs(std::vector<std::uint64_t>& out) {
  failure failed;
  while (runs_.step(failed)) out.push_back(static_cast<std::uint64_t>(runs_.integer(0)));
  runs_.reset();
  return failed;
}

failure webhook_store::remove_run(std::uint64_t run_number) {
  return db_.transaction([&] {
    remove_run_.bind(1, run_number);
    failure failed = remove_run_.run();
    if (failed) return failed;
    forget_.bind(1, run_number);
    return forget_.run();
  });
}

}  // namespace digd::daemon
