// The queries of `digctl pilot`: many runs at once, and single detections.
#include <algorithm>
#include <limits>

#include "archive/browser.h"
#include "archive/rows.h"

namespace digd::archive {

failure browser::prepare_pilot() {
  const std::pair<statement*, const char*> items[] = {
      {&find_detection_, "SELECT id FROM detections WHERE run = ?1 AND entry = ?2 ORDER BY id LIMIT 1 OFFSET ?3"},
      {&detection_text_,
       "SELECT d.entry, (SELECT count(*) FROM detections AS b WHERE b.run = d.run AND b.entry = d.entry AND b.id <= "
       "d.id),"
       " d.reason FROM detections AS d WHERE d.id = ?1"},
      {&piloted_runs_,
       "SELECT number, run, opened_ms, ended, ended_ms, mode, canary, activations, metrics FROM runs"
       " WHERE opened_ms >= ?1 AND deleting = 0 ORDER BY opened_ms DESC, number DESC LIMIT ?2"},
      // If the mode prevented a healing, `healing` is what shadow would have done; it is NULL in observe.
      {&piloted_healings_,
       "SELECT d.run, d.rule, d.subject, d.place, sum(d.healed = 0), sum(d.healed <> 0), max(d.id)"
       " FROM runs AS r CROSS JOIN detections AS d ON d.run = r.number"
       " WHERE r.opened_ms >= ?1 AND r.deleting = 0 AND d.healing IS NOT NULL AND (d.healed <> 0 OR d.cause = 'mode')"
       " GROUP BY d.run, d.rule, d.subject, d.place ORDER BY max(d.id) DESC LIMIT ?2"},
      {&piloted_judgements_,
       "SELECT d.run, d.rule, d.subject, d.place, date(e.arrived_ms / 1000, 'unixepoch', 'weekday 0', '-6 days') AS "
       "week,"
       " sum(j.judgement = 'right'), sum(j.judgement = 'wrong')"
       " FROM judgements AS j CROSS JOIN runs AS r ON r.number = j.run CROSS JOIN detections AS d ON d.id = j.detection"
       " CROSS JOIN entries AS e ON e.id = d.entry WHERE r.opened_ms >= ?1 AND r.deleting = 0"
       " GROUP BY d.run, d.rule, d.subject, d.place, week ORDER BY week, d.run LIMIT ?2"},
  };
  failure failed;
  for (const auto& [into, sql] : items) {
    if (!failed) failed = db_.prepare(sql, *into);
  }
  return failed;
}

boost::system::result<std::optional<std::int64_t>> browser::find_detection(std::uint64_t run_number, std::int64_t entry,
                                                                           std::uint64_t place_in_entry) {
  constexpr std::uint64_t highest = std::numeric_limits<std::int64_t>::max();
  find_detection_.bind(1, run_number);
  find_detection_.bind(2, entry);
  find_detection_.bind(3, std::min(place_in_entry, highest) - 1);
  return read_row(find_detection_, [](const statement& row) { return row.integer(0); });
}

boost::system::result<std::optional<detection_text>> browser::text_of_detection(std::int64_t id) {
  detection_text_.bind(1, id);
  return read_row(detection_text_, [](const statement& row) {
    return detection_text{
        .entry = row.integer(0), .place_in_entry = static_cast<std::uint64_t>(row.integer(1)), .reason = row.text(2)};
  });
}

boost::system::result<std::vector<piloted_run>> browser::piloted_runs(std::int64_t opened_since_ms,
                                                                      std::uint64_t limit) {
  piloted_runs_.bind(1, opened_since_ms);
  piloted_runs_.bind(2, limit);
  return read_rows(piloted_runs_, [](const statement& row) {
    piloted_run run{
        .number = static_cast<std::uint64_t>(row.integer(0)), .run = row.text(1), .opened_ms = row.integer(2)};
    run.ended = row.text(3);
    if (!row.is_null(4)) run.ended_ms = row.integer(4);
    run.mode = row.text(5);
    run.canary = row.text(6);
    run.activations = static_cast<std::uint64_t>(row.integer(7));
    run.metrics = row.text(8);
    return run;
  });
}

namespace {

std::optional<std::string> text_or_none(const statement& row, int column) {
  return row.is_null(column) ? std::nullopt : std::optional(row.text(column));
}

}  // namespace

boost::system::result<std::vector<piloted_healing>> browser::piloted_healings(std::int64_t opened_since_ms,
                                                                              std::uint64_t limit) {
  piloted_healings_.bind(1, opened_since_ms);
  piloted_healings_.bind(2, limit);
  return read_rows(piloted_healings_, [](const statement& row) {
    return piloted_healing{.run_number = static_cast<std::uint64_t>(row.integer(0)),
                           .rule = row.text(1),
                           .subject = text_or_none(row, 2),
                           .place = text_or_none(row, 3),
                           .would = static_cast<std::uint64_t>(row.integer(4)),
                           .did = static_cast<std::uint64_t>(row.integer(5)),
                           .latest = row.integer(6)};
  });
}

boost::system::result<std::vector<piloted_judgement>> browser::piloted_judgements(std::int64_t opened_since_ms,
                                                                                  std::uint64_t limit) {
  piloted_judgements_.bind(1, opened_since_ms);
  piloted_judgements_.bind(2, limit);
  return read_rows(piloted_judgements_, [](const statement& row) {
    return piloted_judgement{.run_number = static_cast<std::uint64_t>(row.integer(0)),
                             .rule = row.text(1),
                             .subject = text_or_none(row, 2),
                             .place = text_or_none(row, 3),
                             .week = row.text(4),
                             .right = static_cast<std::uint64_t>(row.integer(5)),
                             .wrong = static_cast<std::uint64_t>(row.integer(6))};
  });
}

}  // namespace digd::archive
