// Runs each query of docs/archive.md on an archive with rows of every kind.
#include <fstream>
#include <sstream>

#include "tests/archive/support.h"

namespace digd::archive::testing {

namespace {

std::vector<std::string> queries_of_the_guide() {
  const auto path = std::filesystem::path(DIGD_SOURCE_DIR) / "docs/archive.md";
  std::ifstream file(path);
  INFO(path);
  REQUIRE(file);
  std::vector<std::string> texts;
  bool inside = false;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("```")) {
      inside = line == "```sql";
      if (inside) texts.emplace_back();
    } else if (inside) {
      texts.back() += line + "\n";
    }
  }
  return texts;
}

detection_row detection(const std::string& rule, std::int64_t ts) {
  detection_row made;
  made.rule = rule;
  made.severity = "failure";
  made.ts = ts;
  made.healed = true;
  made.healing = "create";
  made.reason = "because";
  made.json = R"({"rule":")" + rule + R"(","reason":"because"})";
  return made;
}

void write_something_of_everything(const std::string& path) {
  reports seen;
  auto a = open_archive(path, seen);
  auto p = a->make_producer();
  push(*p, opening(1));
  auto joined = message(1, 0);
  joined.kind = entry_kind::session_joined;
  push(*p, joined);
  auto judged = message(1, 1);
  judged.type = "event";
  judged.verdicts =
      R"({"type":"verdicts","seq":1,"verdicts":[{"event":"e5","action":"reroute","recipients":["a"],"inject":"t"}]})";
  judged.detections.push_back(detection("early_termination", 1001));
  judged.detections.back().event = "e5";
  judged.detections.back().at = 1;
  judged.detections.back().session = "main";
  push(*p, judged);
  entry fired;
  fired.kind = entry_kind::firing;
  fired.run_number = 1;
  fired.n = 2;
  fired.ts = 20'000;
  fired.detections.push_back(detection("deadlock", 20'000));
  fired.detections.push_back(detection("orphaned_event", 20'000));
  fired.detections.back().event = "e7";
  fired.interventions.push_back({"sys:1", "create", {}, 20'000, "{}"});
  fired.interventions.push_back({"give:e7:1", "reroute", "e7", 20'000, "{}"});
  push(*p, fired);
  auto answer = message(1, 2);
  answer.type = "delivery";
  answer.frame = R"({"type":"delivery","seq":2,"of":"sys:1","applied":"created"})";
  answer.answered = "sys:1";
  answer.outcomes.push_back({"early_termination", "cleared", 21'000, 1001, "e5"});
  answer.outcomes.push_back({"deadlock", "recurred", 21'000, 20'000, "sys:1"});
  answer.outcomes.push_back({"orphaned_event", "unresolved", 21'000, 20'000, "give:e7:1"});
  push(*p, answer);
  auto refused = message(1, 3);
  refused.kind = entry_kind::refused;
  refused.code = "bad_json";
  refused.frame = "{";
  push(*p, refused);
  auto last = message(1, 4);
  last.type = "run_ended";
  last.ended = "success";
  push(*p, last);
}

}  // namespace

TEST_CASE("every_query_of_the_guide_runs_and_finds_something", "[archive]") {
  temporary_folder folder;
  write_something_of_everything(folder.file());
  auto queries = queries_of_the_guide();
  CHECK(queries.size() >= 8);
  connection db;
  REQUIRE_FALSE(db.open(folder.file(), open_mode::read_only, {}));
  for (const auto& sql : queries) {
    INFO(sql);
    statement ask;
    failure failed = db.prepare(sql, ask);
    CHECK(failed.words == "");
    REQUIRE(ask);
    CHECK(ask.step(failed));
    CHECK(failed.words == "");
    while (ask.step(failed)) continue;
    CHECK(failed.words == "");
  }
}

TEST_CASE("every_firing_is_matched_with_its_outcome", "[archive]") {
  temporary_folder folder;
  write_something_of_everything(folder.file());
  const auto path = folder.file();
  CHECK(ask(path, "SELECT count(*) FROM firings") == 3);
  CHECK(ask(path, "SELECT count(*) FROM firings WHERE rule = 'early_termination' AND outcome = 'cleared'") == 1);
  CHECK(ask(path, "SELECT count(*) FROM firings WHERE rule = 'deadlock' AND outcome = 'recurred'") == 1);
  CHECK(ask(path, "SELECT count(*) FROM firings WHERE rule = 'orphaned_event' AND outcome = 'unresolved'") == 1);
}

}  // namespace digd::archive::testing
