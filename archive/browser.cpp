#include "archive/browser.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "archive/rows.h"
#include "archive/schema.h"
#include "archive/trace_export.h"
#include "archive/verdict_text.h"

namespace digd::archive {

namespace {

run_row run_from(const statement& row) {
  run_row run{.number = static_cast<std::uint64_t>(row.integer(0)), .run = row.text(1), .opened_ms = row.integer(2)};
  if (!row.is_null(3)) run.last_ts = row.integer(3);
  run.ended = row.text(4);
  if (!row.is_null(5)) run.ended_ms = row.integer(5);
  run.bytes = static_cast<std::uint64_t>(row.integer(6));
  if (!row.is_null(7)) run.heard_ms = row.integer(7);
  if (row.is_null(8)) return run;
  const auto amount = [&](int column) { return static_cast<std::uint64_t>(row.integer(column)); };
  run.used = usage_amounts{.input_tokens = amount(8),
                           .output_tokens = amount(9),
                           .cost = amount(10),
                           .model_calls = amount(11),
                           .tool_calls = amount(12)};
  return run;
}

}  // namespace

void expand_verdicts(watched_entry& to) {
  if (to.verdicts.empty()) return;
  auto whole = expand_verdicts(to.verdicts, to.seq, [&](std::int64_t id) -> std::optional<std::string> {
    const std::int64_t place = id - to.first_detection;
    if (place < 0 || place >= static_cast<std::int64_t>(to.detections.size())) return std::nullopt;
    return to.detections[static_cast<std::size_t>(place)];
  });
  if (whole) to.verdicts = std::move(*whole);
}

std::size_t watched_entry::bytes() const {
  std::size_t sum = sizeof *this + run.size() + session.size() + type.size() + frame.size() + verdicts.size();
  for (const auto& text : detections) sum += text.size();
  for (const auto& text : interventions) sum += text.size();
  return sum + outcomes.size() * sizeof(outcome_row);
}

boost::system::result<std::unique_ptr<browser>> browser::open(const std::string& path, std::string* problem) {
  std::unique_ptr<browser> made(new browser);
  if (const auto failed = open_reader(
          made->db_, path, {}, [&] { return made->prepare(); }, problem))
    return failed;
  return made;
}

failure browser::prepare() {
  constexpr const char* tail_columns =
      "SELECT e.id, e.run, r.run, e.kind, e.session, e.seq, e.ts, e.type, e.frame, e.verdicts"
      " FROM entries AS e JOIN runs AS r ON r.number = e.run WHERE r.deleting = 0 AND ";
  const std::string tail_all = std::string(tail_columns) + "e.id > ?1 ORDER BY e.id";
  const std::string tail_of_run = std::string(tail_columns) + "e.run = ?2 AND e.id > ?1 ORDER BY e.id";
  // The columns that `run_from` reads. Runs that are being deleted are left out.
  const std::string run =
      "SELECT number, run, opened_ms, last_ts, ended, ended_ms, bytes, heard_ms,"
      " input_tokens, output_tokens, cost, model_calls, tool_calls FROM runs"
      " WHERE deleting = 0 AND ";
  const std::pair<statement*, std::string> items[] = {
      {&runs_, run + "number < ?1 ORDER BY number DESC LIMIT ?2"},
      {&find_, run + "run = ?1 ORDER BY number DESC LIMIT 1"},
      {&oldest_ended_, run + "ended IS NOT NULL AND (ended_ms, number) > (?2, ?3) ORDER BY ended_ms, number LIMIT ?1"},
      {&quiet_,
       run + "ended IS NULL AND coalesce(heard_ms, opened_ms) < ?1 ORDER BY coalesce(heard_ms, opened_ms), number"
             " LIMIT ?2"},
      {&used_pages_,
       "SELECT (SELECT page_count FROM pragma_page_count) - (SELECT freelist_count FROM pragma_freelist_count)"},
      {&page_size_, "SELECT page_size FROM pragma_page_size"},
      {&count_,
       "SELECT id, kind, CASE WHEN kind IN ('run_opened', 'operator_mode', 'limit') THEN frame END,"
       " CASE kind WHEN 'session_joined' THEN session END FROM entries WHERE run = ?1 AND id > ?2 ORDER BY id"},
      {&count_detections_,
       "SELECT max(id), count(*), coalesce(sum(healed), 0) FROM detections WHERE run = ?1 AND id > ?2"},
      {&group_,
       "SELECT rule, healed, cause, healing, outcome, count(DISTINCT detection) FROM firings WHERE run = ?1"
       " GROUP BY rule, healed, cause, healing, outcome ORDER BY rule, healed DESC, cause, outcome"},
      {&detections_,
       "SELECT d.id, d.entry, d.json, d.more_evidence,"
       " CASE WHEN d.healed THEN (SELECT f.outcome FROM firings AS f WHERE f.run = d.run AND f.detection = d.id) END,"
       " j.judgement, j.judged_by, j.judged_ms"
       " FROM detections AS d LEFT JOIN judgements AS j ON j.detection = d.id"
       " WHERE d.run = ?1 AND d.id > ?2 ORDER BY d.id LIMIT ?3"},
      {&hold_frame_,
       "SELECT e.frame FROM detections AS d JOIN entries AS e ON e.id = d.entry"
       " WHERE d.run = ?1 AND d.hold = ?2 ORDER BY d.id DESC LIMIT 1"},
      {&entry_frame_, "SELECT frame FROM entries WHERE id = ?2 AND run = ?1 AND kind IN ('message', 'refused')"},
      {&last_seq_, "SELECT max(id) FROM entries"},
      {&tail_, tail_all},
      {&tail_run_, tail_of_run},
      {&detection_probe_, "SELECT id, entry FROM detections WHERE id >= ?1 ORDER BY id LIMIT 1"},
      {&intervention_probe_, "SELECT row, entry FROM interventions WHERE row >= ?1 ORDER BY row LIMIT 1"},
      {&outcome_probe_, "SELECT id, entry FROM outcomes WHERE id >= ?1 ORDER BY id LIMIT 1"},
      {&detection_last_, "SELECT max(id) FROM detections"},
      {&intervention_last_, "SELECT max(row) FROM interventions"},
      {&outcome_last_, "SELECT max(id) FROM outcomes"},
      {&detection_rows_, "SELECT entry, id, json, more_evidence FROM detections WHERE id >= ?1 ORDER BY id"},
      {&intervention_rows_, "SELECT entry, run, json FROM interventions WHERE row >= ?1 ORDER BY row"},
      {&outcome_rows_,
       "SELECT entry, run, rule, event, detected_ts, ts, outcome FROM outcomes WHERE id >= ?1 ORDER BY id"},
  };
  failure failed;
  for (const auto& [into, sql] : items) {
    if (!failed) failed = db_.prepare(sql, *into);
  }
  return failed ? failed : prepare_pilot();
}

// ---- lists

boost::system::result<std::vector<run_row>> browser::runs(std::uint64_t before, std::uint64_t limit) {
  constexpr std::uint64_t highest = std::numeric_limits<std::int64_t>::max();
  runs_.bind(1, before == 0 ? highest : std::min(before, highest));
  runs_.bind(2, std::min(limit, highest));
  return read_rows(runs_, run_from);
}

boost::system::result<std::vector<run_row>> browser::oldest_ended(std::uint64_t limit, const ended_run& after) {
  oldest_ended_.bind(1, limit);
  oldest_ended_.bind(2, after.ended_ms);
  oldest_ended_.bind(3, after.number);
  return read_rows(oldest_ended_, run_from);
}

boost::system::result<std::vector<run_row>> browser::quiet_since(std::int64_t before_ms, std::uint64_t limit) {
  quiet_.bind(1, before_ms);
  quiet_.bind(2, limit);
  return read_rows(quiet_, run_from);
}

boost::system::result<std::uint64_t> browser::used_bytes() {
  std::uint64_t product = 1;
  for (statement* statement : {&used_pages_, &page_size_}) {
    const statement_reset guard(*statement);
    failure failed;
    if (statement->step(failed)) product *= static_cast<std::uint64_t>(statement->integer(0));
    if (failed) return make_error_code(failed.error());
  }
  return product;
}

boost::system::result<std::optional<run_row>> browser::find(std::string_view run) {
  find_.bind(1, run);
  return read_row(find_, run_from);
}

namespace {

// The line of a limit. Only the policy `observe` stops judging; the others refuse messages or forget what is pending.
void note_limit(std::string&& line, std::string& unjudged) {
  const std::string_view policy = member_of(line, "policy");
  if (policy == "\"resume\"") unjudged.clear();
  if (policy == "\"observe\"") unjudged = std::move(line);
}

std::size_t bytes_of(const run_tally& tally) {
  std::size_t bytes = sizeof tally + tally.hello.size() + tally.operator_mode.size() + tally.unjudged.size();
  for (const std::string& name : tally.sessions) bytes += sizeof(std::string) + name.size();
  return bytes;
}

}  // namespace

boost::system::result<run_tally> browser::tally(std::uint64_t run_number) {
  if (tallies_.size() >= max_tallies || tally_bytes_ >= max_tally_bytes) {
    tallies_.clear();
    tally_bytes_ = 0;
  }
  counted& sum = tallies_[run_number];
  const std::size_t before = bytes_of(sum.sum);
  if (failure failed = count_on(run_number, sum)) return make_error_code(failed.error());
  tally_bytes_ += bytes_of(sum.sum) - before;
  return sum.sum;
}

failure browser::count_on(std::uint64_t run_number, counted& sum) {
  failure failed;
  {
    const statement_reset guard(count_);
    count_.bind(1, run_number);
    count_.bind(2, sum.upto);
    while (count_.step(failed)) {
      sum.upto = count_.integer(0);
      switch (entry_kind_from(count_.text(1)).value_or(entry_kind::message)) {
        case entry_kind::run_opened: sum.sum.hello = count_.text(2); break;
        case entry_kind::operator_mode: sum.sum.operator_mode = count_.text(2); break;
        case entry_kind::limit: note_limit(count_.text(2), sum.sum.unjudged); break;
        case entry_kind::semantics:
        case entry_kind::decision: break;
        case entry_kind::session_joined: {
          auto& names = sum.sum.sessions;
          std::string name = count_.text(3);
          if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(std::move(name));
          break;
        }
        case entry_kind::message: ++sum.sum.messages; break;
        case entry_kind::refused: ++sum.sum.refused; break;
        case entry_kind::firing: ++sum.sum.firings; break;
        case entry_kind::run_deleted:
        case entry_kind::judgement:
        case entry_kind::barrier: break;  // is not a row
      }
    }
  }
  if (failed) return failed;
  const statement_reset guard(count_detections_);
  count_detections_.bind(1, run_number);
  count_detections_.bind(2, sum.detections_upto);
  if (count_detections_.step(failed) && !count_detections_.is_null(0)) {
    sum.detections_upto = count_detections_.integer(0);
    sum.sum.detections += static_cast<std::uint64_t>(count_detections_.integer(1));
    sum.sum.healed += static_cast<std::uint64_t>(count_detections_.integer(2));
  }
  return failed;
}

boost::system::result<std::vector<detection_count>> browser::detection_counts(std::uint64_t run_number) {
  group_.bind(1, run_number);
  return read_rows(group_, [](const statement& row) {
    return detection_count{.rule = row.text(0),
                           .healed = row.integer(1) != 0,
                           .cause = row.text(2),
                           .healing = row.text(3),
                           .outcome = row.text(4),
                           .count = static_cast<std::uint64_t>(row.integer(5))};
  });
}

boost::system::result<std::vector<detection_item>> browser::detections(std::uint64_t run_number, std::int64_t after,
                                                                       std::uint64_t limit) {
  const statement_reset guard(detections_);
  detections_.bind(1, run_number);
  detections_.bind(2, after);
  detections_.bind(3, limit);
  std::vector<detection_item> items;
  failure failed;
  while (detections_.step(failed)) {
    detection_item item{.id = detections_.integer(0), .entry = detections_.integer(1)};
    item.json = join_detection(detections_.text(2), detections_.text(3));
    item.outcome = detections_.text(4);
    item.judgement = detections_.text(5);
    item.judged_by = detections_.text(6);
    item.judged_ms = detections_.integer(7);
    if (!items.empty() && items.back().entry == item.entry) item.place_in_entry = items.back().place_in_entry + 1;
    items.push_back(std::move(item));
  }
  if (failed) return make_error_code(failed.error());
  if (after == 0 || items.empty()) return items;
  // The page may begin with a later detection of an entry.
  const auto first = text_of_detection(items.front().id);
  if (!first) return first.error();
  const std::uint64_t skipped = *first ? (**first).place_in_entry - 1 : 0;
  for (auto& item : items) {
    if (item.entry == items.front().entry) item.place_in_entry += skipped;
  }
  return items;
}

boost::system::result<std::optional<std::string>> browser::frame_of_entry(std::uint64_t run_number,
                                                                          std::int64_t entry) {
  const statement_reset guard(entry_frame_);
  entry_frame_.bind(1, run_number);
  entry_frame_.bind(2, entry);
  failure failed;
  std::optional<std::string> found;
  if (entry_frame_.step(failed) && !entry_frame_.is_null(0)) found = entry_frame_.text(0);
  if (failed) return make_error_code(failed.error());
  return found;
}

boost::system::result<std::optional<std::string>> browser::frame_of_hold(std::uint64_t run_number,
                                                                         std::string_view hold) {
  hold_frame_.bind(1, run_number);
  hold_frame_.bind(2, hold);
  return read_row(hold_frame_, [](const statement& row) { return row.text(0); });
}

// ---- the tail

boost::system::result<std::int64_t> browser::last_seq() {
  const statement_reset guard(last_seq_);
  failure failed;
  std::int64_t last = 0;
  if (last_seq_.step(failed)) last = last_seq_.integer(0);
  if (failed) return make_error_code(failed.error());
  return last;
}

boost::system::result<std::vector<watched_entry>> browser::entries_after(std::int64_t after, std::uint64_t run_number) {
  std::vector<watched_entry> piece;
  // One snapshot for the entries and the rows that belong to them.
  failure failed = db_.execute("BEGIN");
  if (!failed) failed = read_entries(after, run_number, piece);
  if (!failed && !piece.empty()) failed = add_rows(piece);
  if (db_.in_transaction()) static_cast<void>(db_.execute("COMMIT"));
  if (failed) return make_error_code(failed.error());
  return piece;
}

failure browser::read_entries(std::int64_t after, std::uint64_t run_number, std::vector<watched_entry>& out) {
  statement& from = run_number == 0 ? tail_ : tail_run_;
  const statement_reset guard(from);
  from.bind(1, after);
  if (run_number != 0) from.bind(2, run_number);
  failure failed;
  std::size_t bytes = 0;
  while (out.size() < max_entries && bytes < max_bytes && from.step(failed)) {
    watched_entry entry;
    entry.id = from.integer(0);
    if (entry.id <= after) return failure::entries_out_of_order();
    after = entry.id;
    entry.run_number = static_cast<std::uint64_t>(from.integer(1));
    entry.run = from.text(2);
    entry.kind = entry_kind_from(from.text(3)).value_or(entry_kind::message);
    entry.session = from.text(4);
    entry.seq = static_cast<std::uint64_t>(from.integer(5));
    entry.ts = from.integer(6);
    entry.type = from.text(7);
    entry.frame = from.text(8);
    entry.verdicts = from.text(9);
    bytes += entry.bytes();
    out.push_back(std::move(entry));
  }
  return failed;
}

// Rows of an entry are written together with it, so their `entry` never decreases with their id. Finds the first row
// with an entry of at least `entry` by binary search.
failure browser::first_row_after(statement& probe, std::int64_t entry, std::int64_t last, std::int64_t& id) {
  failure failed;
  std::int64_t low = 0, high = last + 1;  // the answer is in (low, high]
  while (low + 1 < high) {
    const std::int64_t middle = low + (high - low) / 2;
    const statement_reset guard(probe);
    probe.bind(1, middle);
    if (!probe.step(failed)) {
      if (failed) return failed;
      high = middle;
    } else if (probe.integer(1) >= entry) {
      high = middle;
    } else {
      low = probe.integer(0);
    }
  }
  id = high;
  return failed;
}

failure browser::add_rows(std::vector<watched_entry>& to) {
  const auto each = [&](statement& max, statement& probe, statement& rows, auto take) {
    failure failed;
    std::int64_t last = 0, first = 0;
    {
      const statement_reset guard(max);
      if (max.step(failed)) last = max.integer(0);
    }
    if (!failed) failed = first_row_after(probe, to.front().id, last, first);
    const statement_reset guard(rows);
    rows.bind(1, first);
    auto at = to.begin();
    while (!failed && rows.step(failed)) {
      const std::int64_t entry = rows.integer(0);
      while (at != to.end() && at->id < entry) ++at;
      if (at == to.end()) break;
      if (at->id == entry) take(*at);
    }
    return failed;
  };
  failure failed = each(detection_last_, detection_probe_, detection_rows_, [&](watched_entry& e) {
    if (e.detections.empty()) e.first_detection = detection_rows_.integer(1);
    e.detections.push_back(join_detection(detection_rows_.text(2), detection_rows_.text(3)));
  });
  if (!failed) {
    failed = each(intervention_last_, intervention_probe_, intervention_rows_,
                  [&](watched_entry& e) { e.interventions.push_back(intervention_rows_.text(2)); });
  }
  if (!failed) {
    failed = each(outcome_last_, outcome_probe_, outcome_rows_, [&](watched_entry& e) {
      outcome_row row{.rule = outcome_rows_.text(2),
                      .outcome = outcome_rows_.text(6),
                      .ts = outcome_rows_.integer(5),
                      .detected_ts = outcome_rows_.integer(4)};
      if (!outcome_rows_.is_null(3)) row.event = outcome_rows_.text(3);
      e.outcomes.push_back(std::move(row));
    });
  }
  for (watched_entry& e : to) expand_verdicts(e);
  std::size_t bytes = 0;  // now with the rows of the entries
  const auto last =
      std::find_if(to.begin(), to.end(), [&](const watched_entry& e) { return (bytes += e.bytes()) >= max_bytes; });
  if (last != to.end()) to.erase(last + 1, to.end());
  return failed;
}

}  // namespace digd::archive
