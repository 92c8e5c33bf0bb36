#include "archive/reader.h"

#include "archive/schema.h"
#include "archive/verdict_text.h"

namespace digd::archive {

namespace {

constexpr std::size_t max_entries_at_once = 1'024;
constexpr std::size_t max_bytes_at_once = 4u << 20;

}  // namespace

boost::system::result<std::unique_ptr<reader>> reader::open(const std::string& path, const std::string& vfs,
                                                            std::string* problem) {
  std::unique_ptr<reader> made(new reader);
  if (const auto failed = open_reader(
          made->db_, path, vfs, [&] { return made->prepare(); }, problem))
    return failed;
  return made;
}

failure reader::prepare() {
  failure failed = db_.prepare(
      "SELECT number, run, (SELECT frame FROM entries WHERE entries.run = runs.number ORDER BY id LIMIT 1),"
      " opened_ms, last_ts, ended, bytes FROM runs WHERE deleting = 0 ORDER BY number",
      runs_);
  if (!failed) {
    failed = db_.prepare(
        "SELECT number, run, NULL, opened_ms, last_ts, ended, bytes FROM runs WHERE ended IS NULL AND deleting = 0"
        " ORDER BY number",
        open_);
  }
  if (!failed) failed = db_.prepare("SELECT count(*) FROM runs WHERE ended IS NOT NULL", ended_);
  if (!failed) {
    failed =
        db_.prepare("SELECT opened_by, sum(bytes) FROM runs WHERE deleting = 0 GROUP BY opened_by", bytes_by_opener_);
  }
  if (!failed) {
    failed = db_.prepare("SELECT number FROM runs WHERE run = ?1 AND deleting = 0 ORDER BY number DESC", numbers_);
  }
  if (!failed) {
    failed = db_.prepare(
        "SELECT id, kind, n, seq, session, type, frame, code, ts, token FROM entries WHERE run = ?1 AND id > ?2 "
        "ORDER BY id",
        entries_);
  }
  if (!failed) failed = db_.prepare("SELECT max(id) FROM entries WHERE run = ?1", last_entry_);
  if (!failed) failed = db_.prepare("SELECT 1 FROM runs WHERE number = ?1 AND deleting = 0", exists_);
  if (!failed) {
    failed = db_.prepare(
        "SELECT id, action, event, ts, json FROM interventions WHERE run = ?1 AND answered_by IS NULL ORDER "
        "BY row",
        unanswered_);
  }
  // Searches backwards: the answers that a client has not received are near the end.
  if (!failed) {
    failed = db_.prepare(
        "SELECT id FROM entries WHERE run = ?1 AND session = ?2 AND seq <= ?3 AND kind IN ('message', 'refused')"
        " ORDER BY id DESC LIMIT 1",
        last_answered_);
  }
  if (!failed) {
    failed = db_.prepare(
        "SELECT id, seq, verdicts, frame, code FROM entries WHERE run = ?1 AND id > ?2 AND session = ?3 AND seq > ?4"
        " AND seq <= ?5 AND (kind = 'message' AND verdicts IS NOT NULL OR kind = 'refused') ORDER BY id LIMIT ?6",
        answers_);
  }
  if (!failed) failed = db_.prepare("SELECT json, more_evidence FROM detections WHERE id = ?1", detection_);
  return failed;
}

boost::system::result<std::vector<stored_run>> reader::runs() { return read_runs(runs_); }

boost::system::result<std::vector<stored_run>> reader::open_runs() { return read_runs(open_); }

boost::system::result<std::uint64_t> reader::count_ended() {
  std::lock_guard guard(one_at_a_time_);
  failure failed;
  const std::uint64_t count = ended_.step(failed) ? static_cast<std::uint64_t>(ended_.integer(0)) : 0;
  ended_.reset();
  db_.release_memory();
  if (failed) return make_error_code(failed.error());
  return count;
}

boost::system::result<std::vector<std::uint64_t>> reader::numbers_of(std::string_view run) {
  std::lock_guard guard(one_at_a_time_);
  const statement_reset reset(numbers_);
  numbers_.bind(1, run);
  std::vector<std::uint64_t> numbers;
  failure failed;
  while (numbers_.step(failed)) numbers.push_back(static_cast<std::uint64_t>(numbers_.integer(0)));
  if (failed) return make_error_code(failed.error());
  return numbers;
}

boost::system::result<std::map<std::string, std::uint64_t>> reader::bytes_by_opener() {
  std::lock_guard guard(one_at_a_time_);
  const statement_reset reset(bytes_by_opener_);
  std::map<std::string, std::uint64_t> bytes;
  failure failed;
  while (bytes_by_opener_.step(failed)) {
    bytes[bytes_by_opener_.text(0)] += static_cast<std::uint64_t>(bytes_by_opener_.integer(1));
  }
  if (failed) return make_error_code(failed.error());
  return bytes;
}

boost::system::result<std::vector<stored_run>> reader::read_runs(statement& select) {
  std::lock_guard guard(one_at_a_time_);
  std::vector<stored_run> stored_runs;
  failure failed;
  while (select.step(failed)) {
    stored_runs.push_back({static_cast<std::uint64_t>(select.integer(0)), select.text(1), select.text(2),
                           select.integer(3), select.integer(4), select.text(5),
                           static_cast<std::uint64_t>(select.integer(6))});
  }
  select.reset();
  if (failed) return make_error_code(failed.error());
  return stored_runs;
}

boost::system::result<std::int64_t> reader::last_entry(std::uint64_t run_number) {
  std::lock_guard guard(one_at_a_time_);
  last_entry_.bind(1, run_number);
  failure failed;
  std::int64_t last = 0;
  if (last_entry_.step(failed)) last = last_entry_.integer(0);
  last_entry_.reset();
  if (failed) return make_error_code(failed.error());
  return last;
}

boost::system::result<bool> reader::exists(std::uint64_t run_number) {
  std::lock_guard guard(one_at_a_time_);
  exists_.bind(1, run_number);
  failure failed;
  const bool found = exists_.step(failed);
  exists_.reset();
  if (failed) return {boost::system::in_place_error, make_error_code(failed.error())};
  return found;
}

boost::system::result<bool> reader::read_some(std::uint64_t run_number, std::int64_t& after,
                                              std::vector<stored_entry>& out) {
  const std::size_t before = out.size();
  if (failure failed = read_next_piece(run_number, after, out))
    return {boost::system::in_place_error, make_error_code(failed.error())};
  return out.size() > before;
}

failure reader::read_next_piece(std::uint64_t run_number, std::int64_t& id, std::vector<stored_entry>& out) {
  std::lock_guard guard(one_at_a_time_);
  entries_.bind(1, run_number);
  entries_.bind(2, id);
  failure failed;
  std::size_t bytes = 0;
  while (out.size() < max_entries_at_once && bytes < max_bytes_at_once && entries_.step(failed)) {
    stored_entry entry;
    entry.id = entries_.integer(0);
    if (entry.id <= id) {  // in a damaged file; without this, reading would never end
      failed = failure::entries_out_of_order();
      break;
    }
    id = entry.id;
    entry.kind = entry_kind_from(entries_.text(1)).value_or(entry_kind::message);
    entry.n = static_cast<std::uint64_t>(entries_.integer(2));
    entry.seq = static_cast<std::uint64_t>(entries_.integer(3));
    entry.session = entries_.text(4);
    entry.type = entries_.text(5);
    entry.frame = entries_.text(6);
    entry.code = entries_.text(7);
    entry.ts = entries_.integer(8);
    entry.token = entries_.text(9);
    bytes += entry.frame.size();
    out.push_back(std::move(entry));
  }
  entries_.reset();
  return failed;
}

boost::system::result<void> reader::each_entry(std::uint64_t run_number,
                                               const std::function<bool(const stored_entry&)>& each) {
  std::vector<stored_entry> piece;
  std::int64_t id = 0;
  do {
    piece.clear();
    if (failure failed = read_next_piece(run_number, id, piece)) return make_error_code(failed.error());
    for (const auto& entry : piece) {
      if (!each(entry)) return {};
    }
  } while (!piece.empty());
  return {};
}

failure reader::find_beginning(answer_range& range) {
  range.entry = 0;
  if (range.after == 0) return {};
  last_answered_.bind(1, range.run_number);
  last_answered_.bind(2, std::string_view(range.session));
  last_answered_.bind(3, range.after);
  failure failed;
  if (last_answered_.step(failed)) range.entry = last_answered_.integer(0);
  last_answered_.reset();
  return failed;
}

std::optional<std::string> reader::detection(std::int64_t id) {
  const statement_reset guard(detection_);
  detection_.bind(1, id);
  failure failed;
  if (!detection_.step(failed)) return std::nullopt;
  return join_detection(detection_.text(0), detection_.text(1));
}

boost::system::result<std::vector<stored_answer>> reader::answers(answer_range& range) {
  std::lock_guard guard(one_at_a_time_);
  failure failed;
  if (range.entry < 0) failed = find_beginning(range);
  std::vector<stored_answer> found;
  if (failed) return make_error_code(failed.error());
  answers_.bind(1, range.run_number);
  answers_.bind(2, range.entry);
  answers_.bind(3, std::string_view(range.session));
  answers_.bind(4, range.after);
  answers_.bind(5, range.upto);
  answers_.bind(6, std::int64_t{max_answers_at_once});
  for (std::size_t bytes = 0; bytes < max_answer_bytes_at_once && answers_.step(failed);) {
    stored_answer& answer = found.emplace_back();
    range.entry = answers_.integer(0);
    range.after = answer.seq = static_cast<std::uint64_t>(answers_.integer(1));
    if (!answers_.is_null(2)) {
      auto response = expand_verdicts(answers_.text(2), answer.seq, [this](std::int64_t id) { return detection(id); });
      if (!response) {  // the row is damaged
        found.pop_back();
        continue;
      }
      answer.response = std::move(*response);
    }
    if (answer.response.empty()) {
      answer.line = answers_.text(3);
      answer.code = answers_.text(4);
    }
    bytes += answer.response.size() + answer.line.size();
  }
  answers_.reset();
  if (failed) return make_error_code(failed.error());
  return found;
}

boost::system::result<std::vector<intervention_row>> reader::unanswered(std::uint64_t run_number) {
  std::lock_guard guard(one_at_a_time_);
  unanswered_.bind(1, run_number);
  std::vector<intervention_row> rows;
  failure failed;
  while (unanswered_.step(failed)) {
    intervention_row row{unanswered_.text(0), unanswered_.text(1), {}, unanswered_.integer(3), unanswered_.text(4)};
    if (!unanswered_.is_null(2)) row.event = unanswered_.text(2);
    rows.push_back(std::move(row));
  }
  unanswered_.reset();
  if (failed) return make_error_code(failed.error());
  return rows;
}

}  // namespace digd::archive
