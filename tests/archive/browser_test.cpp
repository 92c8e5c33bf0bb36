// Reading an archive: pages, tallies, the tail, the queries of retention.
#include "archive/browser.h"

#include "archive/trace_export.h"
#include "tests/archive/support.h"

namespace digd::archive::testing {

namespace {

detection_row detection(const std::string& rule, bool healed, const std::string& cause = {}) {
  detection_row made;
  made.rule = rule;
  made.severity = "warning";
  made.healed = healed;
  made.healing = "reroute";
  if (!cause.empty()) made.cause = cause;
  made.reason = "because";
  made.json = R"({"rule":")" + rule + R"(","reason":"because"})";
  return made;
}

entry ending(std::uint64_t run, std::uint64_t seq, std::int64_t arrived_ms) {
  entry made = message(run, seq);
  made.type = "run_ended";
  made.ended = "success";
  made.arrived_ms = arrived_ms;
  return made;
}

struct looked_into {
  temporary_folder folder;
  reports seen;
  std::unique_ptr<archive> a = open_archive(folder.file(), seen);
  std::unique_ptr<producer> p = a->make_producer();
  std::unique_ptr<browser> b = *browser::open(folder.file());
};

std::vector<std::uint64_t> numbers(const std::vector<run_row>& rows) {
  std::vector<std::uint64_t> values;
  for (const run_row& row : rows) values.push_back(row.number);
  return values;
}

}  // namespace

TEST_CASE("pages_of_runs_have_every_run_newest_first", "[archive]") {
  looked_into at;
  for (std::uint64_t run = 1; run <= 5; ++run) push(*at.p, opening(run, "r" + std::to_string(run)));
  push(*at.p, message(5, 1));
  REQUIRE(at.seen.wait_for_durable(5, 1));
  CHECK(numbers(good(at.b->runs(0, 2))) == std::vector<std::uint64_t>{5, 4});
  CHECK(numbers(good(at.b->runs(4, 2))) == std::vector<std::uint64_t>{3, 2});
  CHECK(numbers(good(at.b->runs(2, 2))) == std::vector<std::uint64_t>{1});
  CHECK(good(at.b->runs(1, 2)).empty());
  CHECK(good(at.b->find("r3"))->number == 3);
  CHECK_FALSE(good(at.b->find("nobody")).has_value());
}

TEST_CASE("a_name_that_came_again_means_the_latest_run", "[archive]") {
  looked_into at;
  push(*at.p, opening(1, "again"));
  push(*at.p, opening(2, "again"));
  push(*at.p, message(2, 1));
  REQUIRE(at.seen.wait_for_durable(2, 1));
  CHECK(good(at.b->find("again"))->number == 2);
}

TEST_CASE("a_tally_counts_only_new_entries", "[archive]") {
  looked_into at;
  push(*at.p, opening(1));
  entry joined = message(1, 0);
  joined.kind = entry_kind::session_joined;
  push(*at.p, joined);
  push(*at.p, joined);  // again, after a reconnect: one session
  push(*at.p, message(1, 1));
  REQUIRE(at.seen.wait_for_durable(1, 1));
  auto first = good(at.b->tally(1));
  CHECK(first.messages == 1);
  CHECK(first.sessions == std::vector<std::string>{"main"});
  entry judged = message(1, 2);
  judged.detections = {detection("deadlock", true), detection("orphaned_event", false, "mode")};
  push(*at.p, judged);
  entry refused = message(1, 3);
  refused.kind = entry_kind::refused;
  push(*at.p, refused);
  REQUIRE(at.seen.wait_for_durable(1, 3));
  for (int again = 0; again < 2; ++again) {  // counted once, however often it is asked
    auto now = good(at.b->tally(1));
    CHECK(now.messages == 2);
    CHECK(now.refused == 1);
    CHECK(now.detections == 2);
    CHECK(now.healed == 1);
  }
  const auto counts = good(at.b->detection_counts(1));
  REQUIRE(counts.size() == 2);
  CHECK((counts[1].rule == "orphaned_event" && counts[1].cause == "mode" && counts[1].count == 1));
}

TEST_CASE("a_listed_run_has_its_stored_bytes_and_the_time_of_its_last_message", "[archive]") {
  looked_into at;
  push(*at.p, opening(1));
  entry judged = message(1, 1);
  judged.arrived_ms = 7'000;
  judged.detections = {detection("deadlock", true)};
  judged.interventions = {{"sys:1", "create", {}, 5, "{\"i\":1}"}};
  judged.verdicts = R"(["e1"])";
  judged.only_deliveries = true;
  push(*at.p, judged);
  entry fired = message(1, 0);
  fired.kind = entry_kind::firing;
  fired.session.clear();
  fired.frame.clear();
  fired.arrived_ms = 9'000;  // a firing is not a sign of life of a client
  push(*at.p, fired);
  push(*at.p, message(1, 2));
  REQUIRE(at.seen.wait_for_durable(1, 2));
  const run_row row = *good(at.b->find("r1"));
  const std::size_t stored = opening(1).frame.size() + judged.frame.size() + judged.verdicts.size() +
                             judged.detections[0].json.size() + judged.interventions[0].json.size() +
                             message(1, 2).frame.size();
  CHECK(row.bytes == stored);
  CHECK(row.heard_ms == 7'000);
}

TEST_CASE("the_tail_has_each_entry_once_with_its_results", "[archive]") {
  looked_into at;
  push(*at.p, opening(1, "one"));
  push(*at.p, opening(2, "two"));
  for (std::uint64_t seq = 1; seq <= 3'000; ++seq) {
    entry each = message(1 + seq % 2, (seq + 1) / 2);
    if (seq % 100 == 0) each.detections = {detection("deadlock", true)};
    push(*at.p, each);
  }
  REQUIRE(at.seen.wait_for_durable(1, 1'500));
  REQUIRE(at.seen.wait_for_durable(2, 1'500));
  for (const std::uint64_t run : {0u, 1u}) {
    std::size_t messages = 0, detections = 0;
    std::int64_t last = 0;
    for (auto piece = good(at.b->entries_after(0, run)); !piece.empty(); piece = good(at.b->entries_after(last, run))) {
      CHECK(piece.size() <= browser::max_entries);
      for (const watched_entry& entry : piece) {
        CHECK(entry.id > last);
        last = entry.id;
        messages += entry.kind == entry_kind::message;
        detections += entry.detections.size();
        if (run != 0) CHECK(entry.run == "one");
      }
    }
    CHECK(messages == (run == 0 ? 3'000 : 1'500));
    CHECK(detections == (run == 0 ? 30 : 30));  // every hundredth, all of them of run 1
    CHECK((run != 0 || last == good(at.b->last_seq())));
  }
}

TEST_CASE("the_tail_has_plain_deliveries_as_the_frame_that_was_sent", "[archive]") {
  looked_into at;
  push(*at.p, opening(1));
  entry judged = message(1, 1);
  judged.verdicts = R"(["e1"])";
  judged.only_deliveries = true;
  push(*at.p, judged);
  REQUIRE(at.seen.wait_for_durable(1, 1));
  const auto piece = good(at.b->entries_after(0, 1));
  REQUIRE(piece.size() == 2);
  CHECK(piece[1].verdicts == R"({"type":"verdicts","seq":1,"verdicts":[{"event":"e1","action":"deliver"}]})");
}

TEST_CASE("retention_gets_the_runs_that_ended_first_and_the_silent_runs", "[archive]") {
  looked_into at;
  const std::int64_t ended[] = {30'000, 10'000, 20'000};
  for (std::uint64_t run = 1; run <= 3; ++run) {
    push(*at.p, opening(run, "ended" + std::to_string(run)));
    push(*at.p, ending(run, 1, ended[run - 1]));
  }
  for (std::uint64_t run = 4; run <= 5; ++run) {
    push(*at.p, opening(run, "open" + std::to_string(run)));
    entry heard = message(run, 1);
    heard.arrived_ms = run == 4 ? 2'000'000'000'000 : 1'800'000'000'000;
    push(*at.p, heard);
  }
  REQUIRE(at.seen.wait_for_durable(5, 1));
  CHECK(numbers(good(at.b->oldest_ended(10))) == std::vector<std::uint64_t>{2, 3, 1});
  CHECK(numbers(good(at.b->oldest_ended(1))) == std::vector<std::uint64_t>{2});
  const run_row first = good(at.b->oldest_ended(1)).front();
  CHECK(numbers(good(at.b->oldest_ended(10, {first.ended_ms.value(), first.number}))) ==
        std::vector<std::uint64_t>{3, 1});
  CHECK(numbers(good(at.b->quiet_since(1'900'000'000'000, 10))) == std::vector<std::uint64_t>{5});
  CHECK(numbers(good(at.b->quiet_since(2'100'000'000'000, 10))) == std::vector<std::uint64_t>{5, 4});
  CHECK(good(at.b->quiet_since(1'700'000'000'000, 10)).empty());
  CHECK(good(at.b->used_bytes()) % 4'096 == 0);
}

TEST_CASE("a_frame_over_several_lines_is_one_line_of_a_trace", "[archive]") {
  std::vector<std::string> lines;
  trace_export trace([&](std::string_view line) { lines.emplace_back(line); });
  stored_entry entry;
  entry.session = "main";
  entry.seq = 1;
  entry.ts = 5;
  entry.frame = "{\"type\": \"event\",\r\n\t\"seq\":1,\n \"event\":{\n\"id\":\"e\\n1\",\n\"payload\":[1,\n2]}}";
  trace.take(entry);
  REQUIRE(lines.size() == 1);
  CHECK(lines[0].find_first_of("\r\n\t") == std::string::npos);
  CHECK(lines[0].find("\"e\\n1\"") != std::string::npos);
}

}  // namespace digd::archive::testing
