#include "archive/callback_reader.h"

#include <algorithm>
#include <iterator>

#include "archive/detection_text.h"
#include "archive/rows.h"
#include "archive/schema.h"

namespace digd::archive {

namespace {

// One table was read up to the entry `last` and has more. Rows of the other table after that entry are left for the
// next piece, so that callbacks keep the order of the entries.
void cut(std::vector<callback_row>& rows, std::int64_t last, bool keep_equal) {
  std::erase_if(rows, [&](const callback_row& row) { return row.entry > last || (row.entry == last && !keep_equal); });
}

run_state run_state_from(const statement& row) {
  return {.number = static_cast<std::uint64_t>(row.integer(0)),
          .ended_ms = row.is_null(1) ? std::nullopt : std::optional(row.integer(1))};
}

// The first 128 detections come with the run: a span should have no more events.
constexpr const char* ended_run_sql =
    "SELECT r.run, json_object('opened_ms', r.opened_ms, 'ended_ms', r.ended_ms, 'outcome', r.ended,"
    " 'detections', (SELECT count(*) FROM detections WHERE run = r.number),"
    " 'healed', (SELECT count(*) FROM detections WHERE run = r.number AND healed = 1),"
    " 'interventions', (SELECT count(*) FROM interventions WHERE run = r.number),"
    " 'found', (SELECT json_group_array(json_object('rule', rule, 'severity', severity, 'healed', healed,"
    " 'healing', healing, 'cause', cause, 'agent', agent, 'event', event, 'reason', reason, 'at_ms', at_ms))"
    " FROM (SELECT d.*, e.arrived_ms AS at_ms FROM detections AS d JOIN entries AS e ON e.id = d.entry"
    " WHERE d.run = r.number ORDER BY d.id LIMIT 128))), '', '', r.ended_ms, NULL"
    " FROM runs AS r WHERE r.deleting = 0 AND r.number = ?1";

}  // namespace

boost::system::result<std::unique_ptr<callback_reader>> callback_reader::open(const std::string& path,
                                                                              std::string* problem) {
  std::unique_ptr<callback_reader> made(new callback_reader);
  if (const auto failed = open_reader(
          made->db_, path, {}, [&] { return made->prepare(); }, problem))
    return failed;
  return made;
}

// All queries but that of `open_` leave out runs that are being deleted.
failure callback_reader::prepare() {
  const std::string run_state_sql =
      "SELECT number, CASE WHEN ended IS NOT NULL THEN coalesce(ended_ms, opened_ms) END FROM runs"
      " WHERE deleting = 0 AND ";
  const std::pair<statement*, std::string> items[] = {
      {&end_, "SELECT (SELECT max(id) FROM detections), (SELECT max(row) FROM interventions)"},
      {&highest_,
       "SELECT max(coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'detections'), 0),"
       " coalesce((SELECT max(id) FROM detections), 0)),"
       " max(coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'interventions'), 0),"
       " coalesce((SELECT max(row) FROM interventions), 0)),"
       " max(coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'runs'), 0),"
       " coalesce((SELECT max(number) FROM runs), 0))"},
      {&detections_,
       "SELECT d.id, d.run, d.entry, e.arrived_ms, d.rule || ' ' || d.severity, coalesce(d.agent, ''), d.hold IS NOT "
       "NULL"
       " FROM detections AS d JOIN entries AS e ON e.id = d.entry JOIN runs AS r ON r.number = d.run"
       " WHERE r.deleting = 0 AND d.id > ?1 ORDER BY d.id"},
      {&interventions_,
       "SELECT i.row, i.run, i.entry, e.arrived_ms,"
       " (SELECT group_concat((d.value ->> '$.rule') || ' ' || (d.value ->> '$.severity'), ',')"
       "  FROM json_each(CASE WHEN json_valid(i.json) THEN i.json END, '$.detections') AS d),"
       " coalesce(CASE WHEN json_valid(i.json) THEN i.json ->> '$.detections[0].agent' END, ''), 0"
       " FROM interventions AS i JOIN entries AS e ON e.id = i.entry JOIN runs AS r ON r.number = i.run"
       " WHERE r.deleting = 0 AND i.row > ?1 ORDER BY i.row"},
      {&detection_,
       "SELECT r.run, d.json, coalesce(d.hold, ''), coalesce(d.event, ''), e.arrived_ms, d.more_evidence"
       " FROM detections AS d"
       " JOIN entries AS e ON e.id = d.entry JOIN runs AS r ON r.number = d.run WHERE r.deleting = 0 AND d.id = ?1"},
      {&intervention_,
       "SELECT r.run, i.json, '', '', e.arrived_ms, NULL FROM interventions AS i JOIN entries AS e ON e.id = i.entry"
       " JOIN runs AS r ON r.number = i.run WHERE r.deleting = 0 AND i.row = ?1"},
      {&runs_after_, run_state_sql + "number > ?1 ORDER BY number LIMIT ?2"},
      {&state_, run_state_sql + "number = ?1"},
      {&open_, "SELECT number FROM runs WHERE ended IS NULL"},  // reads the index runs_open only
      {&ended_run_, ended_run_sql},
      {&labels_,
       "SELECT l.key, l.value FROM json_each((SELECT CASE WHEN json_valid(frame) THEN frame END FROM entries"
       " WHERE run = ?1 AND kind = 'run_opened' ORDER BY id LIMIT 1), '$.labels') AS l"},
      {&run_, "SELECT run FROM runs WHERE deleting = 0 AND number = ?1"},
  };
  failure failed;
  for (const auto& [into, sql] : items) {
    if (!failed) failed = db_.prepare(sql, *into);
  }
  return failed;
}

boost::system::result<callback_position> callback_reader::end() {
  const statement_reset guard(end_);
  failure failed;
  callback_position at;
  if (end_.step(failed)) at = {end_.integer(0), end_.integer(1)};
  if (failed) return make_error_code(failed.error());
  return at;
}

boost::system::result<callback_position> callback_reader::highest_ever() {
  const statement_reset guard(highest_);
  failure failed;
  callback_position at;
  if (highest_.step(failed)) at = {highest_.integer(0), highest_.integer(1), highest_.integer(2)};
  if (failed) return make_error_code(failed.error());
  return at;
}

failure callback_reader::read(statement& from, callback_kind kind, std::int64_t after, std::vector<callback_row>& out,
                              bool& full) {
  const statement_reset guard(from);
  from.bind(1, after);
  failure failed;
  std::size_t bytes = 0;
  while (from.step(failed)) {
    out.push_back({.kind = kind,
                   .row = from.integer(0),
                   .run_number = static_cast<std::uint64_t>(from.integer(1)),
                   .entry = from.integer(2),
                   .archived_ms = from.integer(3),
                   .agent = from.text(5),
                   .has_hold = from.integer(6) != 0,
                   .symptoms = from.text(4)});
    bytes += sizeof(callback_row) + out.back().symptoms.size();
    full = out.size() >= max_rows || bytes >= max_bytes;
    if (full) break;
  }
  return failed;
}

boost::system::result<callback_piece> callback_reader::after(const callback_position& from) {
  std::vector<callback_row> found, made;
  bool more_found = false, more_made = false;
  // One transaction: both tables are read in the same state.
  failure failed = db_.execute("BEGIN");
  if (!failed) failed = read(detections_, callback_kind::detection, from.detection, found, more_found);
  if (!failed) failed = read(interventions_, callback_kind::intervention, from.intervention, made, more_made);
  if (db_.in_transaction()) static_cast<void>(db_.execute("COMMIT"));
  if (failed) return make_error_code(failed.error());
  // At most one of the lists gets shorter, and the other one has rows: so the reader always advances.
  const std::int64_t last_found = found.empty() ? 0 : found.back().entry,
                     last_made = made.empty() ? 0 : made.back().entry;
  if (more_found) cut(made, last_found, false);
  if (more_made) cut(found, last_made, true);
  callback_piece piece;
  piece.upto = {found.empty() ? from.detection : found.back().row, made.empty() ? from.intervention : made.back().row,
                from.run};
  piece.more = more_found || more_made;
  piece.rows.reserve(found.size() + made.size());
  std::merge(std::make_move_iterator(found.begin()), std::make_move_iterator(found.end()),
             std::make_move_iterator(made.begin()), std::make_move_iterator(made.end()), std::back_inserter(piece.rows),
             [](const callback_row& a, const callback_row& b) { return a.entry < b.entry; });
  return piece;
}

boost::system::result<std::vector<run_state>> callback_reader::runs_after(std::uint64_t number) {
  runs_after_.bind(1, number);
  runs_after_.bind(2, static_cast<std::uint64_t>(max_rows));
  return read_rows(runs_after_, run_state_from);
}

boost::system::result<std::optional<run_state>> callback_reader::state_of(std::uint64_t number) {
  state_.bind(1, number);
  return read_row(state_, run_state_from);
}

boost::system::result<std::vector<std::uint64_t>> callback_reader::open_runs() {
  return read_rows(open_, [](const statement& row) { return static_cast<std::uint64_t>(row.integer(0)); });
}

boost::system::result<std::optional<callback_text>> callback_reader::text_of(callback_kind kind, std::int64_t row) {
  statement& from = kind == callback_kind::detection      ? detection_
                    : kind == callback_kind::intervention ? intervention_
                                                          : ended_run_;
  from.bind(1, row);
  return read_row(from, [](const statement& found) {
    return callback_text{.run = found.text(0),
                         .json = join_detection(found.text(1), found.text(5)),
                         .hold = found.text(2),
                         .event = found.text(3),
                         .link = {},
                         .at_ms = found.integer(4)};
  });
}

boost::system::result<callback_reader::labels> callback_reader::labels_of(std::uint64_t run_number) {
  if (const auto known = remembered_.find(run_number); known != remembered_.end()) return known->second;
  const statement_reset guard(labels_);
  labels_.bind(1, run_number);
  failure failed;
  labels labels;
  while (labels_.step(failed)) labels.emplace_back(labels_.text(0), labels_.text(1));
  if (failed) return make_error_code(failed.error());
  if (remembered_.size() >= max_labels) remembered_.clear();
  remembered_.emplace(run_number, labels);
  return labels;
}

boost::system::result<std::optional<std::string>> callback_reader::run_of(std::uint64_t run_number) {
  run_.bind(1, run_number);
  return read_row(run_, [](const statement& row) { return row.text(0); });
}

}  // namespace digd::archive
