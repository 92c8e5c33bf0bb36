#include "archive/row_import.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "archive/detection_text.h"
#include "archive/usage_sum.h"
#include "archive/verdict_text.h"

namespace digd::archive {

namespace {

// Columns of `runs` follow from its entries, as `store` keeps them while a run goes on.
constexpr const char* runs_sql = R"sql(
INSERT OR REPLACE INTO runs (number, run, opened_ms, last_ts, ended, ended_ms, bytes, heard_ms, mode, canary,
                  activations, metrics, input_tokens, output_tokens, cost, model_calls, tool_calls)
SELECT i.number, i.name,
  coalesce((SELECT arrived_ms FROM entries WHERE run = i.number AND kind = 'run_opened' LIMIT 1),
           (SELECT min(arrived_ms) FROM entries WHERE run = i.number)),
  (SELECT max(max(e.ts), coalesce((SELECT max(d.ts) FROM detections AS d WHERE d.run = i.number), e.ts))
   FROM entries AS e WHERE e.run = i.number AND e.kind NOT IN ('run_opened', 'session_joined')),
  CASE WHEN l.id IS NOT NULL THEN coalesce(l.frame ->> '$.outcome', 'unknown') END, l.arrived_ms,
  i.bytes,
  (SELECT max(arrived_ms) FROM entries
   WHERE run = i.number AND kind IN ('session_joined', 'message', 'refused')),
  o.frame ->> '$.mode', o.frame ->> '$.canary',
  (SELECT count(*) FROM entries WHERE run = i.number AND kind = 'message' AND type = 'activation_started'),
  CASE WHEN length(l.frame -> '$.metrics') <= 4096 THEN l.frame -> '$.metrics' END,
  u.input_tokens, u.output_tokens, u.cost, u.model_calls, u.tool_calls
FROM import_runs AS i
LEFT JOIN entries AS o ON o.id = (SELECT min(id) FROM entries WHERE run = i.number AND kind = 'run_opened')
LEFT JOIN entries AS l ON l.id =
  (SELECT max(id) FROM entries WHERE run = i.number AND kind = 'message' AND type = 'run_ended')
LEFT JOIN import_usage AS u ON u.number = i.number
WHERE i.has_news
ORDER BY i.number;
UPDATE interventions SET (answered_by, answered_ts, answered) =
  (SELECT e.id, e.ts, e.frame ->> '$.applied' FROM entries AS e
   WHERE e.run = interventions.run AND e.kind = 'message' AND e.type = 'delivery'
     AND coalesce(e.frame ->> '$.of', e.frame ->> '$.event') = interventions.id ORDER BY e.id LIMIT 1)
WHERE answered_by IS NULL AND run IN (SELECT number FROM import_runs WHERE has_news);
)sql";
constexpr const char* order_sql = R"sql(CREATE INDEX temp_order ON entries (run, n);)sql";
constexpr const char* finish_sql = R"sql(
DROP INDEX temp_order;
DROP TABLE import_runs; DROP TABLE import_usage;
COMMIT;
PRAGMA wal_checkpoint(TRUNCATE);
)sql";
constexpr const char* publish_sql = "UPDATE import_runs SET has_news = 0; COMMIT; BEGIN;";

}  // namespace

open_trouble row_import::open(const std::string& path, usage_reader usage) {
  usage_ = std::move(usage);
  if (failure failed = db_.open(path, open_mode::create, {})) return failed;
  if (auto found = migrate(db_, true)) return found;
  // Losing this file loses nothing, because the fleet's tables have its rows.
  failure failed = db_.execute(
      "PRAGMA synchronous = OFF; PRAGMA foreign_keys = OFF; PRAGMA ignore_check_constraints = ON;"
      "PRAGMA temp_store = MEMORY; BEGIN;"
      "CREATE TEMP TABLE import_runs (number INTEGER PRIMARY KEY, name TEXT NOT NULL, bytes INTEGER NOT NULL,"
      " has_news INTEGER NOT NULL);"
      "CREATE TEMP TABLE import_usage (number INTEGER PRIMARY KEY, input_tokens INTEGER, output_tokens INTEGER,"
      " cost INTEGER, model_calls INTEGER, tool_calls INTEGER);");
  if (!failed) failed = prepare();
  return failed;
}

failure row_import::prepare() {
  const std::pair<statement*, const char*> items[] = {
      {&fields_,
       "SELECT ?1 ->> '$.run_number', ?1 ->> '$.run', ?1 ->> '$.kind', ?1 ->> '$.frame', ?1 ->> '$.verdicts',"
       " coalesce(?1 ->> '$.detection_shift', 0), coalesce(?1 ->> '$.seq', 0), coalesce(?1 ->> '$.entry', 0)"},
      {&add_entry_,
       "INSERT INTO entries (id, run, n, kind, session, seq, ts, arrived_ms, type, code, verdicts, frame)"
       " SELECT ?1 ->> '$.entry', ?1 ->> '$.run_number', ?1 ->> '$.n', ?1 ->> '$.kind', ?1 ->> '$.session',"
       " ?1 ->> '$.seq', ?1 ->> '$.ts', ?1 ->> '$.arrived_ms', ?1 ->> '$.type', ?1 ->> '$.code', ?2,"
       " ?1 ->> '$.frame'"},
      {&add_detections_,
       "INSERT INTO detections (id, run, entry, rule, severity, session, at, ts, event, agent, healed, healing, cause,"
       " subject, place, action, limits, hold, json, more_evidence)"
       " SELECT value ->> '$.id', ?1 ->> '$.run_number', ?1 ->> '$.entry', value ->> '$.rule',"
       " value ->> '$.severity', value ->> '$.session', value ->> '$.at', value ->> '$.ts', value ->> '$.event',"
       " value ->> '$.agent', value ->> '$.healed', value ->> '$.healing', value ->> '$.cause',"
       " value ->> '$.subject', value ->> '$.place', value ->> '$.action', value ->> '$.limits', value ->> '$.hold',"
       " coalesce(value ->> '$.detection', '{}'), CAST(value ->> '$.more_evidence' AS BLOB)"
       " FROM json_each(?1, '$.detections')"},
      {&add_interventions_,
       "INSERT INTO interventions (run, id, entry, action, event, ts, json)"
       " SELECT ?1 ->> '$.run_number', value ->> '$.id', ?1 ->> '$.entry', value ->> '$.action', value ->> '$.event',"
       " value ->> '$.ts', coalesce(value ->> '$.intervention', '{}') FROM json_each(?1, '$.interventions')"},
      {&add_outcomes_,
       "INSERT INTO outcomes (run, entry, rule, event, detected_ts, ts, outcome)"
       " SELECT ?1 ->> '$.run_number', ?1 ->> '$.entry', value ->> '$.rule', value ->> '$.event',"
       " value ->> '$.detected_ts', value ->> '$.ts', value ->> '$.outcome' FROM json_each(?1, '$.outcomes')"},
      {&detection_texts_,
       "SELECT value ->> '$.id', coalesce(value ->> '$.detection', '{}'), value ->> '$.more_evidence'"
       " FROM json_each(?1, '$.detections') ORDER BY 1"},
      {&intervention_bytes_,
       "SELECT coalesce(sum(length(CAST(value ->> '$.intervention' AS BLOB))), 0) FROM json_each(?1, "
       "'$.interventions')"},
      {&add_run_,
       "INSERT INTO import_runs VALUES (?1, ?2, ?3, 1)"
       " ON CONFLICT (number) DO UPDATE SET bytes = bytes + ?3, has_news = 1"},
      {&add_usage_,
       "INSERT INTO import_usage VALUES (?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT (number) DO UPDATE SET"
       " input_tokens = min(input_tokens + ?2, ?7), output_tokens = min(output_tokens + ?3, ?7),"
       " cost = min(cost + ?4, ?7), model_calls = min(model_calls + ?5, ?7), tool_calls = min(tool_calls + ?6, ?7)"},
  };
  failure failed;
  for (const auto& [into, sql] : items) {
    if (!failed) failed = db_.prepare(sql, *into);
  }
  return failed;
}

failure row_import::add(std::string_view row) {
  failure failed;
  fields fields;
  {
    const statement_reset guard(fields_);
    fields_.bind(1, row);
    if (!fields_.step(failed)) return failed;
    fields.run_number = fields_.integer(0);
    fields.run = fields_.text(1);
    fields.is_message = fields_.text(2) == "message";
    fields.frame = fields_.text(3);
    fields.verdicts = fields_.text(4);
    fields.detection_shift = fields_.integer(5);
    fields.seq = static_cast<std::uint64_t>(fields_.integer(6));
    fields.entry = fields_.integer(7);
  }
  std::vector<detection> detections;
  std::int64_t bytes = 0;
  if (failed = read_detections(row, detections, bytes); failed) return failed;
  highest_ = std::max({highest_, fields.run_number, fields.entry, detections.empty() ? 0 : detections.back().id});
  bytes += static_cast<std::int64_t>(fields.frame.size() + fields.verdicts.size());  // as they were stored at first
  if (fields.detection_shift != 0 && refers_to_detections(fields.verdicts)) shift_verdicts(fields, detections);
  add_run_.bind(1, fields.run_number);
  add_run_.bind(2, std::string_view(fields.run));
  add_run_.bind(3, bytes);
  if (failed = add_run_.run(); failed) return failed;
  add_entry_.bind(1, row);
  add_entry_.bind_unless_empty(2, fields.verdicts);
  failed = add_entry_.run();
  for (statement* rows : {&add_detections_, &add_interventions_, &add_outcomes_}) {
    if (failed) return failed;
    rows->bind(1, row);
    failed = rows->run();
  }
  if (failed || !fields.is_message || fields.frame.find("\"usage\"") == std::string::npos) return failed;
  const std::optional<usage_amounts> used = usage_(fields.frame);
  return used ? add_usage(fields.run_number, *used) : failed;
}

// `bytes`: those of the texts of the row's detections and interventions.
failure row_import::read_detections(std::string_view row, std::vector<detection>& into, std::int64_t& bytes) {
  failure failed;
  const statement_reset guard(detection_texts_);
  detection_texts_.bind(1, row);
  while (detection_texts_.step(failed)) {
    detection& read = into.emplace_back();
    read.id = detection_texts_.integer(0);
    read.json = join_detection(detection_texts_.text(1), detection_texts_.text(2));
    bytes += static_cast<std::int64_t>(read.json.size());
  }
  const statement_reset other_guard(intervention_bytes_);
  intervention_bytes_.bind(1, row);
  if (!failed && intervention_bytes_.step(failed)) bytes += intervention_bytes_.integer(0);
  return failed;
}

// The verdicts refer to detections by the ids of the archive that they come from.
void row_import::shift_verdicts(fields& row, const std::vector<detection>& detections) {
  const auto whole = expand_verdicts(row.verdicts, row.seq, [&](std::int64_t id) -> std::optional<std::string> {
    for (const detection& known : detections) {
      if (known.id == id + row.detection_shift) return known.json;
    }
    return std::nullopt;
  });
  if (!whole || detections.empty()) return;
  std::vector<detection_row> rows(detections.size());
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i].json = detections[i].json;
  compact_verdicts(*whole, rows, detections.front().id, row.verdicts);
}

failure row_import::add_usage(std::int64_t run_number, const usage_amounts& used) {
  return store_usage(add_usage_, run_number, used);
}

failure row_import::finish() { return db_.execute(std::string(order_sql) + runs_sql + finish_sql); }

failure row_import::publish() { return db_.execute(std::string(runs_sql) + publish_sql); }

failure row_import::discard() {
  failure failed;
  if (db_.in_transaction()) failed = db_.execute("ROLLBACK");  // after some errors SQLite has done it already
  return failed ? failed : db_.execute("BEGIN");
}

failure row_import::remove(std::int64_t run_number) {
  const std::string number = std::to_string(run_number);
  std::string sql = "DELETE FROM import_runs WHERE number = " + number +
                    "; DELETE FROM import_usage WHERE number = " + number +
                    "; DELETE FROM runs WHERE number = " + number + ';';
  for (const char* table : {"entries", "detections", "interventions", "outcomes"}) {
    sql += std::string("DELETE FROM ") + table + " WHERE run = " + number + ';';
  }
  failure failed = db_.execute(sql);
  return failed ? failed : publish();
}

}  // namespace digd::archive
