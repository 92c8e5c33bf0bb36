#include "daemon/otlp/spool.h"

#include <utility>

namespace digd::daemon {

namespace {

using archive::failure;
using archive::statement;

constexpr const char* spool_schema = R"sql(
CREATE TABLE batches (  -- one a request: the fields that the mapping reads of its spans, as OTLP JSON
  id   INTEGER PRIMARY KEY,
  body TEXT NOT NULL
) STRICT;
CREATE TABLE lines (    -- the messages sent to runs that have not ended
  run  TEXT NOT NULL,
  seq  INTEGER NOT NULL,
  line TEXT NOT NULL,
  PRIMARY KEY (run, seq)
) STRICT, WITHOUT ROWID;
CREATE TABLE traces (   -- the traces of each of these runs
  trace TEXT PRIMARY KEY,
  run   TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX traces_by_run ON traces (run);
)sql";

}  // namespace

failure otlp_spool::open(const std::string& path) {
  if (path.empty()) return {};
  failure failed = db_.open(path, archive::open_mode::create, {});
  if (!failed) failed = migrate();
  if (!failed)
    failed = db_.execute(
        "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA secure_delete = ON; PRAGMA journal_size_limit = "
        "16777216");
  const std::pair<statement*, std::string_view> statements[] = {
      {&add_, "INSERT INTO batches (id, body) VALUES (?1, ?2)"},
      {&line_, "INSERT INTO lines (run, seq, line) VALUES (?1, ?2, ?3)"},
      {&trace_, "INSERT OR IGNORE INTO traces (trace, run) VALUES (?1, ?2)"},
      {&drop_batch_, "DELETE FROM batches WHERE id = ?1"},
      {&drop_lines_, "DELETE FROM lines WHERE run = ?1"},
      {&drop_traces_, "DELETE FROM traces WHERE run = ?1"},
  };
  for (const auto& [prepared, sql] : statements) {
    if (!failed) failed = db_.prepare(sql, *prepared);
  }
  if (!failed) failed = db_.query("SELECT coalesce(max(id), 0) FROM batches", last_id_);
  if (failed) close();
  return failed;
}

void otlp_spool::close() {
  for (statement* statement : {&add_, &line_, &trace_, &drop_batch_, &drop_lines_, &drop_traces_}) *statement = {};
  db_.close();
}

failure otlp_spool::migrate() {
  std::int64_t id = 0, version = 0, objects = 0;
  failure failed = db_.query("PRAGMA application_id", id);
  if (!failed) failed = db_.query("PRAGMA user_version", version);
  if (!failed) failed = db_.query("SELECT count(*) FROM sqlite_schema", objects);
  if (failed || (id == application_id && version == schema_version)) return failed;
  if (id != 0 || objects > 0) return failure::wrong_file("another program, or another version of digd, wrote the file");
  return db_.transaction([&] {
    return db_.execute(spool_schema + ("PRAGMA application_id = " + std::to_string(application_id) +
                                       "; PRAGMA user_version = " + std::to_string(schema_version)));
  });
}

failure otlp_spool::add(stored_batch& batch) {
  batch.id = ++last_id_;
  if (!db_) return {};
  add_.bind(1, batch.id);
  add_.bind(2, std::string_view(batch.body));
  return add_.run();
}

failure otlp_spool::add_lines(std::string_view run, const std::vector<std::string>& traces, std::uint64_t first_seq,
                              const std::vector<std::string>& lines) {
  if (!db_) return {};
  return db_.transaction([&] {
    failure failed;
    for (const std::string& trace : traces) {
      trace_.bind(1, std::string_view(trace));
      trace_.bind(2, run);
      if (!failed) failed = trace_.run();
    }
    for (std::size_t i = 0; i < lines.size() && !failed; ++i) {
      line_.bind(1, run);
      line_.bind(2, first_seq + i);
      line_.bind(3, std::string_view(lines[i]));
      failed = line_.run();
    }
    return failed;
  });
}

failure otlp_spool::forget_batches(const std::vector<std::int64_t>& ids) {
  if (!db_ || ids.empty()) return {};
  return db_.transaction([&] {
    failure failed;
    for (const std::int64_t id : ids) {
      drop_batch_.bind(1, id);
      if (!failed) failed = drop_batch_.run();
    }
    return failed;
  });
}

failure otlp_spool::forget_run(std::string_view run) {
  if (!db_) return {};
  return db_.transaction([&] {
    drop_lines_.bind(1, run);
    drop_traces_.bind(1, run);
    failure failed = drop_lines_.run();
    return failed ? failed : drop_traces_.run();
  });
}

failure otlp_spool::each_batch(const std::function<void(stored_batch&&)>& take) {
  if (!db_) return {};
  statement rows;
  failure failed = db_.prepare("SELECT id, body FROM batches ORDER BY id", rows);
  while (!failed && rows.step(failed)) take({rows.integer(0), rows.text(1)});
  return failed;
}

failure otlp_spool::each_line(const std::function<void(stored_line&&)>& take) {
  if (!db_) return {};
  statement rows;
  failure failed = db_.prepare("SELECT run, line FROM lines ORDER BY run, seq", rows);
  while (!failed && rows.step(failed)) take({rows.text(0), rows.text(1)});
  return failed;
}

failure otlp_spool::each_trace(const std::function<void(std::string, std::string)>& take) {
  if (!db_) return {};
  statement rows;
  failure failed = db_.prepare("SELECT run, trace FROM traces", rows);
  while (!failed && rows.step(failed)) take(rows.text(0), rows.text(1));
  return failed;
}

}  // namespace digd::daemon
