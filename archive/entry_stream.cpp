#include "archive/entry_stream.h"

#include <algorithm>
#include <utility>

#include "archive/schema.h"
#include "base/json_writer.h"

namespace digd::archive {

namespace {

// Steps through a table whose rows belong to entries, beside the entries, in the same order.
class side_rows {
 public:
  side_rows(statement& rows, std::int64_t after) : rows_(rows), upto_(after) { rows_.bind(1, after); }
  ~side_rows() { rows_.reset(); }
  side_rows(const side_rows&) = delete;
  side_rows& operator=(const side_rows&) = delete;

  // Writes the rows of this entry as an array, without its name. Rows of earlier entries are passed over: those entries
  // belong to runs that are being deleted.
  void write_of(std::int64_t entry, json_writer& to, failure& failed) {
    to.open_array();
    while (has_row(failed) && rows_.integer(1) <= entry) {
      if (rows_.integer(1) == entry) to.raw(rows_.text(2));
      upto_ = rows_.integer(0);
      read_ = false;
    }
    to.close_array();
  }

  std::int64_t upto() const { return upto_; }

 private:
  bool has_row(failure& failed) {
    if (read_) return true;
    if (over_ || failed) return false;
    read_ = rows_.step(failed);
    over_ = !read_;
    return read_;
  }

  statement& rows_;
  std::int64_t upto_;
  bool read_ = false, over_ = false;
};

}  // namespace

boost::system::result<std::unique_ptr<entry_stream>> entry_stream::open(const std::string& path, std::string* problem) {
  std::unique_ptr<entry_stream> made(new entry_stream);
  if (const auto failed = open_reader(
          made->db_, path, {}, [&] { return made->prepare(); }, problem))
    return failed;
  return made;
}

failure entry_stream::prepare() {
  const std::pair<statement*, const char*> items[] = {
      {&highest_,
       "SELECT max(coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'entries'), 0),"
       " coalesce((SELECT max(id) FROM entries), 0))"},
      {&count_, "SELECT count(*) FROM (SELECT 1 FROM entries WHERE id > ?1 LIMIT ?2)"},
      {&entries_,
       "SELECT e.id, e.run, json_object('format', 1, 'entry', e.id, 'run', r.run, 'run_number', e.run, 'n', e.n,"
       " 'kind', e.kind, 'session', e.session, 'seq', e.seq, 'ts', e.ts, 'arrived_ms', e.arrived_ms, 'type', e.type,"
       " 'code', e.code, 'verdicts', e.verdicts, 'frame', e.frame), e.token, e.n, r.run,"
       " CASE WHEN e.kind IN ('message', 'refused') THEN e.session END,"
       " CASE WHEN e.kind IN ('message', 'refused') THEN e.seq END"
       " FROM entries AS e JOIN runs AS r ON r.number = e.run"
       " WHERE e.id > ?1 AND r.deleting = 0 ORDER BY e.id LIMIT ?2"},
      {&exists_, "SELECT 1 FROM runs WHERE number = ?1 AND deleting = 0"},
      {&detections_,
       "SELECT id, entry, json_object('id', id, 'rule', rule, 'severity', severity, 'session', session, 'at', at,"
       " 'ts', ts, 'event', event, 'agent', agent, 'healed', healed, 'healing', healing, 'cause', cause,"
       " 'subject', subject, 'place', place, 'action', action, 'limits', limits, 'hold', hold, 'detection', json,"
       " 'more_evidence', CAST(more_evidence AS TEXT))"
       " FROM detections WHERE id > ?1 ORDER BY id"},
      {&interventions_,
       "SELECT row, entry, json_object('id', id, 'action', action, 'event', event, 'ts', ts, 'intervention', json)"
       " FROM interventions WHERE row > ?1 ORDER BY row"},
      {&outcomes_,
       "SELECT id, entry, json_object('rule', rule, 'event', event, 'detected_ts', detected_ts, 'ts', ts,"
       " 'outcome', outcome) FROM outcomes WHERE id > ?1 ORDER BY id"},
  };
  failure failed;
  for (const auto& [into, sql] : items) {
    if (!failed) failed = db_.prepare(sql, *into);
  }
  return failed;
}

boost::system::result<std::int64_t> entry_stream::highest_ever() {
  const statement_reset guard(highest_);
  failure failed;
  std::int64_t highest = 0;
  if (highest_.step(failed)) highest = highest_.integer(0);
  if (failed) return make_error_code(failed.error());
  return highest;
}

boost::system::result<std::int64_t> entry_stream::count_after(std::int64_t entry) {
  const statement_reset guard(count_);
  count_.bind(1, entry);
  count_.bind(2, std::int64_t{max_counted});
  failure failed;
  std::int64_t count = 0;
  if (count_.step(failed)) count = count_.integer(0);
  if (failed) return make_error_code(failed.error());
  return count;
}

boost::system::result<bool> entry_stream::exists(std::int64_t run_number) {
  const statement_reset guard(exists_);
  exists_.bind(1, run_number);
  failure failed;
  const bool found = exists_.step(failed);
  if (failed) return {boost::system::in_place_error, make_error_code(failed.error())};
  return found;
}

boost::system::result<stream_piece> entry_stream::after(const stream_position& from) {
  stream_piece piece;
  piece.upto = from;
  // One transaction: all tables are read in the same state.
  failure failed = db_.execute("BEGIN");
  if (!failed) {
    const statement_reset guard(entries_);
    entries_.bind(1, from.entry);
    entries_.bind(2, std::int64_t{max_rows});
    side_rows detections(detections_, from.detection), interventions(interventions_, from.intervention),
        outcomes(outcomes_, from.outcome);
    for (std::size_t bytes = 0; bytes < max_bytes && !failed && entries_.step(failed);) {
      const std::int64_t id = entries_.integer(0);
      if (id <= piece.upto.entry) {
        failed = failure::entries_out_of_order();
        break;
      }
      streamed_entry& entry = piece.entries.emplace_back();
      entry.id = id;
      entry.run_number = entries_.integer(1);
      entry.n = static_cast<std::uint64_t>(entries_.integer(4));
      entry.run = entries_.text(5);
      entry.session = entries_.text(6);
      entry.seq = static_cast<std::uint64_t>(entries_.integer(7));
      json_writer to(entry.json);
      to.open_object().members_of(entries_.text(2));
      if (!entries_.is_null(3)) to.key("token").text(entries_.text(3));
      detections.write_of(entry.id, to.key("detections"), failed);
      interventions.write_of(entry.id, to.key("interventions"), failed);
      outcomes.write_of(entry.id, to.key("outcomes"), failed);
      to.close_object();
      bytes += entry.json.size();
      piece.upto = {entry.id, detections.upto(), interventions.upto(), outcomes.upto()};
    }
  }
  if (db_.in_transaction()) static_cast<void>(db_.execute("COMMIT"));
  if (failed) return make_error_code(failed.error());
  return piece;
}

}  // namespace digd::archive
