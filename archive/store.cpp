#include "archive/store.h"

#include <sqlite3.h>

#include <algorithm>
#include <boost/unordered/unordered_flat_map.hpp>
#include <utility>

#include "archive/detection_text.h"
#include "archive/files.h"
#include "archive/log_vfs.h"
#include "archive/salvage.h"
#include "archive/usage_sum.h"
#include "archive/verdict_text.h"
#include "base/background_steps.h"

namespace digd::archive {

namespace {

constexpr int busy_while_opening_ms = 2'000;
constexpr std::size_t entries_a_step = 8;

// The writer checkpoints after it has acknowledged; a commit never does. A log that had to grow is truncated. Deleted
// rows are overwritten with zeros.
constexpr const char* settings_sql =
    "PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON; PRAGMA wal_autocheckpoint = 0;"
    "PRAGMA journal_size_limit = 67108864; PRAGMA secure_delete = ON; PRAGMA cache_size = -16384;"
    "PRAGMA temp_store = MEMORY;";

failure moved_away() { return {SQLITE_READONLY_DBMOVED, "the archive file was moved or removed while in use"}; }

bool counts_as_heard(const entry& entry) {
  return entry.kind == entry_kind::message || entry.kind == entry_kind::refused;
}

// Cannot exceed 2^64: a batch has at most 2^13 messages, of at most 2^50 each.
void add(usage_amounts& sum, const usage_amounts& used) {
  sum.input_tokens += used.input_tokens;
  sum.output_tokens += used.output_tokens;
  sum.cost += used.cost;
  sum.model_calls += used.model_calls;
  sum.tool_calls += used.tool_calls;
}

int keep_log_pages(void* pages, sqlite3*, const char*, int now) {
  *static_cast<int*>(pages) = now;
  return SQLITE_OK;
}

}  // namespace

open_trouble store::open(const settings& settings) {
  std::string words;
  switch (lock_.take(settings.path + ".lock", words)) {
    case file_lock::result::taken: break;
    case file_lock::result::held_by_another: return {archive_error::locked, words};
    case file_lock::result::failed: return {archive_error::cannot_open, words};
  }
  if (auto found = finish_salvage(settings.path)) return found;
  if (failure error = db_.open(settings.path, open_mode::create, log_vfs(settings.vfs))) return error;
  db_.set_busy_timeout(busy_while_opening_ms);
  bool is_new = false;
  if (auto found = recognise(db_, is_new)) return found;
  make_private(settings.path);
  if (failure error = db_.execute(settings_sql)) return error;
  if (auto found = migrate(db_, is_new, settings.on_migration)) return found;
  if (auto found = find_damage(db_, settings.check_bytes)) return found;
  // The CHECK on `kind` serves other programs and the search for damage. SQLite evaluates its list for each row, which
  // is slow; digd's kinds come from an enumeration.
  if (failure error = db_.execute("PRAGMA ignore_check_constraints = ON")) return error;
  if (failure error = checkpoint(false)) return error;  // a killed daemon may have left a log
  if (failure error = prepare()) return error;
  db_.release_memory();  // both the search for damage and that for runs to remove read many pages
  if (settings.max_value_bytes > 0) sqlite3_limit(db_.get(), SQLITE_LIMIT_LENGTH, settings.max_value_bytes);
  db_.set_busy_timeout(0);  // from now on the writer retries by itself and reports it
  return {};
}

failure store::prepare() {
  failure failed = read_next_numbers();
  if (!failed) failed = prepare_statements();
  if (!failed) failed = find_unfinished_deletions();
  if (!failed) failed = count_free_pages();
  sqlite3_wal_hook(db_.get(), keep_log_pages, &log_pages_);
  return failed;
}

failure store::read_next_numbers() {
  std::int64_t highest = 0;
  // AUTOINCREMENT keeps the highest number, so numbers of deleted runs are not reused.
  failure failed = db_.query(
      "SELECT max(coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'runs'), 0),"
      " coalesce((SELECT max(number) FROM runs), 0))",
      highest);
  next_run_number_ = static_cast<std::uint64_t>(highest) + 1;
  const auto next_row = [&](const std::string& table, const char* key, std::int64_t& next) {
    if (failed) return;
    failed = db_.query("SELECT max(coalesce((SELECT seq FROM sqlite_sequence WHERE name = '" + table +
                           "'), 0), coalesce((SELECT max(" + key + ") FROM " + table + "), 0)) + 1",
                       next);
  };
  next_row("entries", "id", next_.entry);
  next_row("detections", "id", next_.detection);
  next_row("interventions", "row", next_.intervention);
  next_row("outcomes", "id", next_.outcome);
  return failed;
}

failure store::prepare_statements() {
  const std::pair<statement*, const char*> items[] = {
      {&begin_, "BEGIN IMMEDIATE"},
      {&commit_, "COMMIT"},
      {&rollback_, "ROLLBACK"},
      {&insert_run_,
       "INSERT INTO runs (number, run, opened_ms, mode, canary, opened_by) VALUES (?1, ?2, ?3,"
       " CASE WHEN json_valid(?4) THEN ?4 ->> '$.mode' END, CASE WHEN json_valid(?4) THEN ?4 ->> '$.canary' END,"
       " ?5)"},
      {&insert_entry_,
       "INSERT INTO entries (run, n, kind, session, seq, ts, arrived_ms, type, code, verdicts, frame, id, token)"
       " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)"},
      {&insert_detection_,
       "INSERT INTO detections (run, entry, rule, severity, session, at, ts, event, agent, healed, healing, "
       "cause,"
       " json, id, subject, place, action, limits, hold, more_evidence)"
       " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20)"},
      {&insert_intervention_,
       "INSERT INTO interventions (run, id, entry, action, event, ts, json, row) VALUES (?1, ?2, ?3, ?4, ?5, ?6, "
       "?7, ?8)"},
      {&insert_outcome_,
       "INSERT INTO outcomes (run, entry, rule, event, detected_ts, ts, outcome, id)"
       " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)"},
      {&answer_intervention_,
       "UPDATE interventions SET answered_by = ?3, answered_ts = ?4,"
       " answered = CASE WHEN json_valid(?5) THEN ?5 ->> '$.applied' END"
       " WHERE run = ?1 AND id = ?2 AND answered_by IS NULL"},
      {&end_run_,
       "UPDATE runs SET ended = ?2, ended_ms = ?3, metrics = CASE WHEN json_valid(?4) THEN"
       " CASE WHEN length(?4 -> '$.metrics') <= 4096 THEN ?4 -> '$.metrics' END END WHERE number = ?1"},
      {&mark_run_, "UPDATE runs SET deleting = 1 WHERE number = ?1"},
      {&delete_run_, "DELETE FROM runs WHERE number = ?1"},
      {&remove_rows_[0], "DELETE FROM entries WHERE id IN (SELECT id FROM entries WHERE run = ?1 LIMIT ?2)"},
      {&remove_rows_[1], "DELETE FROM detections WHERE id IN (SELECT id FROM detections WHERE run = ?1 LIMIT ?2)"},
      {&remove_rows_[2],
       "DELETE FROM interventions WHERE row IN (SELECT row FROM interventions WHERE run = ?1 LIMIT ?2)"},
      // Inserts nothing if the detection or its run was deleted meanwhile.
      {&put_judgement_,
       "INSERT INTO judgements (detection, run, judgement, judged_by, judged_ms)"
       " SELECT d.id, d.run, ?3, ?4, ?5 FROM detections AS d JOIN runs AS r ON r.number = d.run"
       " WHERE d.id = ?1 AND d.run = ?2 AND r.deleting = 0"
       " ON CONFLICT (detection) DO UPDATE SET judgement = ?3, judged_by = ?4, judged_ms = ?5"},
      {&drop_judgement_, "DELETE FROM judgements WHERE detection = ?1 AND run = ?2"},
      {&remove_rows_[4],
       "DELETE FROM judgements WHERE detection IN (SELECT detection FROM judgements WHERE run = ?1 LIMIT ?2)"},
      {&remove_rows_[3], "DELETE FROM outcomes WHERE id IN (SELECT id FROM outcomes WHERE run = ?1 LIMIT ?2)"},
      {&free_page_count_, "SELECT freelist_count FROM pragma_freelist_count"},
      {&note_highest_, "INSERT INTO sqlite_sequence (name, seq) VALUES (?1, ?2)"},
      {&change_run_,
       "UPDATE runs SET last_ts = CASE WHEN ?2 IS NULL THEN last_ts ELSE max(coalesce(last_ts, ?2), ?2) END,"
       " heard_ms = CASE WHEN ?3 IS NULL THEN heard_ms ELSE max(coalesce(heard_ms, ?3), ?3) END,"
       " bytes = bytes + ?4, activations = activations + ?5 WHERE number = ?1"},
      // The sums stop at `max_usage_sum`, so that they stay integers.
      {&add_usage_,
       "UPDATE runs SET input_tokens = min(coalesce(input_tokens, 0) + ?2, ?7),"
       " output_tokens = min(coalesce(output_tokens, 0) + ?3, ?7), cost = min(coalesce(cost, 0) + ?4, ?7),"
       " model_calls = min(coalesce(model_calls, 0) + ?5, ?7), tool_calls = min(coalesce(tool_calls, 0) + ?6, ?7)"
       " WHERE number = ?1"},
  };
  for (const auto& [into, sql] : items) {
    if (failure failed = db_.prepare(sql, *into)) return failed;
  }
  return {};
}

failure store::find_unfinished_deletions() {
  statement unfinished;
  failure failed = db_.prepare("SELECT number FROM runs WHERE deleting <> 0 ORDER BY number", unfinished);
  while (!failed && unfinished.step(failed)) leaving_.push_back(static_cast<std::uint64_t>(unfinished.integer(0)));
  return failed;
}

store::result store::write(std::span<const std::unique_ptr<entry>> entries) {
  result done{{}, entries.size()};
  // Entries in a file that was moved away would not be durable.
  if (has_moved()) {
    done.failed = moved_away();
    return done;
  }
  changes_.clear();
  done.failed = begin_.run();
  for (std::size_t i = 0; i < entries.size() && !done.failed; ++i) {
    if (i % entries_a_step == 0) background_steps::step();
    done.failed = put(*entries[i]);
    if (done.failed) done.at = i;
  }
  if (!done.failed) done.failed = put_changes();
  if (!done.failed) done.failed = commit_.run();
  if (!done.failed) leaving_.insert(leaving_.end(), marked_.begin(), marked_.end());
  marked_.clear();
  // SQLite rolls back by itself after some errors.
  if (done.failed && db_.in_transaction()) static_cast<void>(rollback_.run());
  return done;
}

failure store::put(const entry& entry) {
  failure failed;
  if (entry.kind == entry_kind::run_deleted) return mark_deleted(entry.run_number);
  if (entry.kind == entry_kind::judgement) return put_judgement(entry);
  if (entry.kind == entry_kind::barrier) return failed;
  if (entry.kind == entry_kind::run_opened) {
    insert_run_.bind(1, entry.run_number);
    insert_run_.bind(2, std::string_view(entry.run));
    insert_run_.bind(3, entry.arrived_ms);
    insert_run_.bind(4, std::string_view(entry.frame));
    insert_run_.bind_unless_empty(5, entry.token);
    failed = insert_run_.run();
    if (failed) return failed;
  }
  if (entry.only_deliveries) {
    compact_deliveries(entry.verdicts, verdicts_);
  } else {
    compact_verdicts(entry.verdicts, entry.detections, next_.detection, verdicts_);
  }
  auto& into = insert_entry_;
  into.bind(1, entry.run_number);
  into.bind(2, entry.n);
  into.bind(3, to_string(entry.kind));
  into.bind_unless_empty(4, entry.session);
  entry.seq == 0 ? into.bind_null(5) : into.bind(5, entry.seq);
  into.bind(6, entry.ts);
  into.bind(7, entry.arrived_ms);
  into.bind_unless_empty(8, entry.type);
  into.bind_unless_empty(9, entry.code);
  into.bind_unless_empty(10, verdicts_);
  into.bind_unless_empty(11, entry.frame);
  const std::int64_t id = next_.entry++;
  into.bind(12, id);
  into.bind_unless_empty(13, entry.token);
  failed = into.run();
  if (!failed) failed = put_rows(entry, id);
  if (!failed) note_change(entry);
  return failed;
}

// Stores the highest row numbers in sqlite_sequence, where SQLite keeps those of runs, so that none is reused.
failure store::mark_deleted(std::uint64_t run_number) {
  failure failed =
      db_.execute("DELETE FROM sqlite_sequence WHERE name IN ('entries', 'detections', 'interventions', 'outcomes')");
  const std::pair<std::string_view, std::int64_t> highest[] = {{"entries", next_.entry - 1},
                                                               {"detections", next_.detection - 1},
                                                               {"interventions", next_.intervention - 1},
                                                               {"outcomes", next_.outcome - 1}};
  for (const auto& [table, row] : highest) {
    if (failed) return failed;
    note_highest_.bind(1, table);
    note_highest_.bind(2, row);
    failed = note_highest_.run();
  }
  if (failed) return failed;
  mark_run_.bind(1, run_number);
  failed = mark_run_.run();
  if (!failed) marked_.push_back(run_number);
  return failed;
}

failure store::put_judgement(const entry& entry) {
  const judgement_row& row = *entry.opinion;
  statement& change = row.judgement.empty() ? drop_judgement_ : put_judgement_;
  change.bind(1, row.detection);
  change.bind(2, entry.run_number);
  if (row.judgement.empty()) return change.run();
  change.bind(3, std::string_view(row.judgement));
  change.bind_unless_empty(4, row.judged_by);
  change.bind(5, entry.arrived_ms);
  return change.run();
}

store::removal store::remove_some() {
  removal done;
  if (has_moved()) {
    done.failed = moved_away();
    return done;
  }
  const std::uint64_t run = leaving_.front();
  bool complete = false;
  done.failed = begin_.run();
  if (!done.failed) done.failed = remove_rows(run, complete);
  if (!done.failed && complete) {
    delete_run_.bind(1, run);
    done.failed = delete_run_.run();
  }
  if (!done.failed) done.failed = commit_.run();
  if (done.failed && db_.in_transaction()) static_cast<void>(rollback_.run());
  if (done.failed || !complete) return done;
  leaving_.pop_front();
  done.gone = run;
  static_cast<void>(count_free_pages());  // if that fails, the file shrinks later
  return done;
}

failure store::remove_rows(std::uint64_t run_number, bool& complete) {
  const auto until = std::chrono::steady_clock::now() + max_removal_time;
  for (statement& from : remove_rows_) {
    do {
      if (std::chrono::steady_clock::now() >= until) return {};
      from.bind(1, run_number);
      from.bind(2, std::int64_t{rows_a_portion});
      if (failure failed = from.run()) return failed;
    } while (db_.changed_rows() > 0);
  }
  complete = true;
  return {};
}

failure store::count_free_pages() {
  failure failed;
  free_pages_ = free_page_count_.step(failed) ? free_page_count_.integer(0) : 0;
  free_page_count_.reset();
  return failed;
}

failure store::give_back_some() {
  const std::int64_t pages = std::min(pages_a_step, free_pages_ - max_kept_pages);
  const std::int64_t before = free_pages_;
  failure failed = db_.execute("PRAGMA incremental_vacuum(" + std::to_string(pages) + ")");
  if (!failed) failed = count_free_pages();
  if (!failed && free_pages_ >= before) free_pages_ = 0;  // the file was created without incremental vacuum
  return failed;
}

failure store::put_rows(const entry& entry, std::int64_t id) {
  failure failed;
  for (const auto& row : entry.detections) {
    auto& into = insert_detection_;
    into.bind(1, entry.run_number);
    into.bind(2, id);
    into.bind(3, std::string_view(row.rule));
    into.bind(4, std::string_view(row.severity));
    into.bind(5, row.session);
    into.bind(6, row.at);
    into.bind(7, row.ts);
    into.bind(8, row.event);
    into.bind(9, row.agent);
    into.bind(10, row.healed);
    into.bind(11, row.healing);
    into.bind(12, row.cause);
    const stored_detection stored = split_detection(row.json);
    into.bind(13, std::string_view(stored.json));
    into.bind(14, next_.detection++);
    into.bind(15, row.subject);
    into.bind(16, row.place);
    into.bind(17, row.action);
    into.bind(18, row.limits);
    into.bind(19, row.hold);
    into.bind_blob_unless_empty(20, stored.more_evidence);
    if ((failed = into.run())) return failed;
  }
  for (const auto& row : entry.interventions) {
    auto& into = insert_intervention_;
    into.bind(1, entry.run_number);
    into.bind(2, std::string_view(row.id));
    into.bind(3, id);
    into.bind(4, std::string_view(row.action));
    into.bind(5, row.event);
    into.bind(6, row.ts);
    const std::string json = cut_intervention(row.json);
    into.bind(7, std::string_view(json));
    into.bind(8, next_.intervention++);
    if ((failed = into.run())) return failed;
  }
  for (const auto& row : entry.outcomes) {
    auto& into = insert_outcome_;
    into.bind(1, entry.run_number);
    into.bind(2, id);
    into.bind(3, std::string_view(row.rule));
    into.bind(4, row.event);
    into.bind(5, row.detected_ts);
    into.bind(6, row.ts);
    into.bind(7, std::string_view(row.outcome));
    into.bind(8, next_.outcome++);
    if ((failed = into.run())) return failed;
  }
  return note_answer(entry, id);
}

failure store::note_answer(const entry& entry, std::int64_t id) {
  failure failed;
  if (entry.answered) {
    answer_intervention_.bind(1, entry.run_number);
    answer_intervention_.bind(2, std::string_view(*entry.answered));
    answer_intervention_.bind(3, id);
    answer_intervention_.bind(4, entry.ts);
    answer_intervention_.bind(5, std::string_view(entry.frame));
    failed = answer_intervention_.run();
  }
  if (!failed && !entry.ended.empty()) {
    end_run_.bind(1, entry.run_number);
    end_run_.bind(2, std::string_view(entry.ended));
    end_run_.bind(3, entry.arrived_ms);
    end_run_.bind(4, std::string_view(entry.frame));
    failed = end_run_.run();
  }
  return failed;
}

// Collects changes so that each run is updated once for each batch, not once for each message.
void store::note_change(const entry& entry) {
  run_change& to = changes_[entry.run_number];
  to.bytes += entry.frame.size() + verdicts_.size();
  for (const auto& row : entry.detections) to.bytes += row.json.size();
  for (const auto& row : entry.interventions) to.bytes += row.json.size();
  if (entry.kind == entry_kind::message && entry.type == "activation_started") ++to.activations;
  if (entry.used) {
    if (!to.used) to.used.emplace();
    add(*to.used, *entry.used);
  }
  if (entry.kind == entry_kind::session_joined || counts_as_heard(entry)) {
    to.heard_ms = std::max(to.heard_ms.value_or(entry.arrived_ms), entry.arrived_ms);
  }
  if (entry.kind == entry_kind::run_opened || entry.kind == entry_kind::session_joined) return;
  std::int64_t ts = entry.ts;
  for (const auto& row : entry.detections) ts = std::max(ts, row.ts);
  to.last_ts = std::max(to.last_ts.value_or(ts), ts);
}

failure store::put_changes() {
  failure failed;
  for (const auto& [run, change] : changes_) {
    change_run_.bind(1, run);
    change_run_.bind(2, change.last_ts);
    change_run_.bind(3, change.heard_ms);
    change_run_.bind(4, change.bytes);
    change_run_.bind(5, change.activations);
    if ((failed = change_run_.run())) break;
    if (change.used && (failed = put_usage(run, *change.used))) break;
  }
  return failed;
}

failure store::put_usage(std::uint64_t run_number, const usage_amounts& used) {
  return store_usage(add_usage_, run_number, used);
}

failure store::checkpoint(bool truncate) {
  int in_log = 0, moved = 0;
  int rc = sqlite3_wal_checkpoint_v2(
      db_.get(), "main", truncate ? SQLITE_CHECKPOINT_TRUNCATE : SQLITE_CHECKPOINT_PASSIVE, &in_log, &moved);
  const bool is_busy = (rc & 0xff) == SQLITE_BUSY;  // a reader needs the rest; a later checkpoint moves it
  if (rc != SQLITE_OK && !is_busy) return db_.last_failure();
  log_pages_ = std::max(in_log, 0);
  moved_pages_ = is_busy ? -1 : std::max(moved, 0);
  return {};
}

bool store::has_moved() {
  int moved = 0;
  sqlite3_file_control(db_.get(), "main", SQLITE_FCNTL_HAS_MOVED, &moved);
  return moved != 0;
}

}  // namespace digd::archive
