// Rows of the stream become an archive again: the same runs, entries and verdicts, also under other numbers.
#include "archive/row_import.h"

#include <boost/json.hpp>

#include "archive/browser.h"
#include "archive/entry_stream.h"
#include "ingest/protocol/encode.h"
#include "tests/archive/support.h"

namespace digd::archive::testing {

namespace {

namespace json = boost::json;

// A message with `count` detections, each in a verdict; their evidence is too long for one column.
entry judged_message(std::uint64_t run, std::uint64_t seq, std::uint32_t count) {
  entry made = message(run, seq);
  made.type = "event";
  answer a;
  for (std::uint32_t i = 0; i < count; ++i) {
    digd::detection d;
    d.rule = rule_id::cross_lineage_aggregation;
    d.event = "e" + std::to_string(i);
    d.evidence.assign(40, std::to_string(i) + std::string(200, '\x01'));
    d.evidence_total = 40;
    d.reason = "because";
    a.detections.push_back(d);
    a.verdicts.push_back({.event = *d.event, .action = action::inject, .inject = "text", .detections = {i}});
    std::string whole;
    ingest::encode_detection(whole, d, true);
    made.detections.push_back({.rule = "cross_lineage_aggregation",
                               .severity = "warning",
                               .ts = made.ts,
                               .healed = true,
                               .healing = "inject",
                               .reason = "because",
                               .json = whole});
  }
  std::string event_ids;
  ingest::encode_verdicts(made.verdicts, event_ids, seq, a, false);
  made.interventions.push_back({.id = "sys:" + std::to_string(seq), .action = "create", .json = R"({"id":"sys"})"});
  made.outcomes.push_back({.rule = "deadlock", .outcome = "cleared", .ts = 9, .detected_ts = 8});
  return made;
}

entry last_message(std::uint64_t run, std::uint64_t seq) {
  entry made = message(run, seq);
  made.type = "run_ended";
  made.ended = "unknown";
  made.frame = R"({"type":"run_ended","metrics":{"x":1}})";
  return made;
}

void write_archive(const std::string& path) {
  reports seen;
  const auto a = open_archive(path, seen);
  const auto p = a->make_producer();
  for (std::uint64_t run = 1; run <= 2; ++run) {
    push(*p, opening(run, "r" + std::to_string(run)));
    push(*p, judged_message(run, 1, 2));
    push(*p, judged_message(run, 2, 1));
    push(*p, last_message(run, 3));
    REQUIRE(seen.wait_for_durable(run, 3));
  }
}

std::vector<std::string> streamed(const std::string& path) {
  const auto stream = good(entry_stream::open(path));
  std::vector<std::string> rows;
  for (const streamed_entry& entry : good(stream->after({})).entries) rows.push_back(entry.json);
  return rows;
}

void import_rows(const std::string& path, const std::vector<std::string>& rows) {
  row_import to;
  REQUIRE_FALSE(to.open(path, [](std::string_view) { return std::nullopt; }));
  for (const std::string& row : rows) REQUIRE_FALSE(to.add(row));
  REQUIRE_FALSE(to.finish());
}

// The same row under numbers that other archives do not use.
std::string moved(const std::string& row) {
  json::object fields = json::parse(row).as_object();
  fields["entry"] = fields["entry"].as_int64() + 1000;
  fields["run_number"] = fields["run_number"].as_int64() + 10;
  fields["detection_shift"] = 500;
  for (json::value& detection : fields["detections"].as_array())
    detection.as_object()["id"] = detection.as_object()["id"].as_int64() + 500;
  return json::serialize(fields);
}

// All that readers see of an archive, without its numbers.
std::string seen_in(const std::string& path) {
  const auto reads = good(browser::open(path));
  std::string out;
  for (const run_row& run : good(reads->runs(0, 10))) {
    const run_tally tally = good(reads->tally(run.number));
    out += run.run + ' ' + std::to_string(run.opened_ms) + ' ' + std::to_string(run.last_ts.value_or(-1)) + ' ' +
           run.ended + ' ' + std::to_string(run.ended_ms.value_or(-1)) + ' ' + std::to_string(run.bytes) + ' ' +
           std::to_string(run.heard_ms.value_or(-1)) + ' ' + std::to_string(tally.messages) + ' ' +
           std::to_string(tally.detections) + '\n';
    for (const watched_entry& e : good(reads->entries_after(0, run.number))) {
      out += e.session + std::to_string(e.seq) + e.type + e.frame + e.verdicts;
      for (const std::string& text : e.detections) out += text;
      for (const std::string& text : e.interventions) out += text;
      for (const outcome_row& row : e.outcomes) out += row.rule + row.outcome;
      out += '\n';
    }
  }
  return out;
}

}  // namespace

TEST_CASE("rows_of_a_stream_are_the_same_archive_again", "[archive]") {
  const temporary_folder folder;
  write_archive(folder.file());
  const std::vector<std::string> rows = streamed(folder.file());
  REQUIRE(rows.size() == 8);
  import_rows(folder.file("again.sqlite"), rows);
  const std::string expected = seen_in(folder.file());
  CHECK(expected.find("\"evidence_total\"") == std::string::npos);  // joined again, not cut
  CHECK(seen_in(folder.file("again.sqlite")) == expected);
}

TEST_CASE("verdicts_name_their_detections_under_other_numbers", "[archive]") {
  const temporary_folder folder;
  write_archive(folder.file());
  std::vector<std::string> rows;
  for (const std::string& row : streamed(folder.file())) rows.push_back(moved(row));
  import_rows(folder.file("moved.sqlite"), rows);
  CHECK(seen_in(folder.file("moved.sqlite")) == seen_in(folder.file()));
  CHECK(good(good(browser::open(folder.file("moved.sqlite")))->find("r2"))->number == 12);
}

TEST_CASE("readers_see_each_publication_and_nothing_between", "[archive]") {
  const temporary_folder folder;
  write_archive(folder.file());
  const std::vector<std::string> rows = streamed(folder.file());
  const std::string path = folder.file("live.sqlite");
  row_import to;
  REQUIRE_FALSE(to.open(path, [](std::string_view) { return std::nullopt; }));
  REQUIRE_FALSE(to.publish());
  const auto reads = good(browser::open(path));
  std::size_t published = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    REQUIRE_FALSE(to.add(rows[i]));
    CHECK(good(reads->entries_after(0, 0)).size() == published);
    if (i % 2 == 0) continue;
    REQUIRE_FALSE(to.publish());
    published = i + 1;
    CHECK(good(reads->entries_after(0, 0)).size() == published);
  }
  CHECK(seen_in(path) == seen_in(folder.file()));
  CHECK(to.highest() == 8);
}

TEST_CASE("a_removed_run_leaves_no_row_and_others_stay", "[archive]") {
  const temporary_folder folder;
  write_archive(folder.file());
  const std::vector<std::string> rows = streamed(folder.file());
  const std::string path = folder.file("live.sqlite");
  row_import to;
  REQUIRE_FALSE(to.open(path, [](std::string_view) { return std::nullopt; }));
  for (const std::string& row : rows) REQUIRE_FALSE(to.add(row));
  REQUIRE_FALSE(to.publish());
  const auto reads = good(browser::open(path));
  REQUIRE_FALSE(to.remove(1));
  CHECK_FALSE(good(reads->find("r1")));
  CHECK(good(reads->entries_after(0, 1)).empty());
  CHECK(good(reads->entries_after(0, 0)).size() == rows.size() / 2);
  CHECK(good(reads->find("r2")));
  REQUIRE_FALSE(to.add(moved(rows[0])));
  REQUIRE_FALSE(to.discard());
  REQUIRE_FALSE(to.publish());
  CHECK(good(reads->entries_after(0, 0)).size() == rows.size() / 2);
}

TEST_CASE("a_row_that_is_not_json_is_a_failure", "[archive]") {
  const temporary_folder folder;
  row_import to;
  REQUIRE_FALSE(to.open(folder.file(), [](std::string_view) { return std::nullopt; }));
  CHECK(to.add("{"));
}

}  // namespace digd::archive::testing
