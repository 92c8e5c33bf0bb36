// The cost of one message: findings with the same evidence share it, and `limits.judging_work` is the upper bound.
#include <catch2/catch.hpp>

#include "ingest/protocol/replay.h"
#include "tests/engine/engine_answers.h"
#include "tests/engine/scenario.h"

using namespace digd;
using namespace digd::tests;

namespace {

std::string number(int i) { return std::to_string(10'000 + i); }

// An activation of `agent` that ends with outputs for "hub": a lineage of its own.
std::string split(const std::string& agent, int outputs) {
  std::string text;
  for (int i = 0; i < outputs; ++i) {
    if (i > 0) text += ',';
    text += R"({"id":")" + agent + number(i) + R"(","recipients":["hub"]})";
  }
  return R"({"type":"activation_started","activation":"v)" + agent + R"(","agent":")" + agent + "\"}\n" +
         R"({"type":"activation_ended","activation":"v)" + agent + R"(","outputs":[)" + text + "]}";
}

std::uint64_t work_of(scenario& s, const std::string& lines) {
  const std::uint64_t before = s.graph().counters().looked_at;
  s.then(lines);
  return s.graph().counters().looked_at - before;
}

}  // namespace

TEST_CASE("an_aggregator_with_800_results_gets_a_verdict_on_each_of_700_more") {
  scenario s(R"({"type":"hello","agents":["ada","bob","hub"]})");
  s.then(split("ada", 800));
  const std::uint64_t work = work_of(s, split("bob", 700));
  CHECK(s.detections.size() == 700);
  for (const detection& d : s.detections) {
    CHECK(d.rule == rule_id::cross_lineage_aggregation);
    CHECK(d.evidence.size() == detection::max_evidence);
    CHECK(d.evidence_total == 800);
    CHECK(d.healed);
  }
  // 1,500 live and named events, and a report for each detection, but not 700 times 800.
  CHECK(work < 20 * 1'500 + 700 * 1'024 + graph::max_message_visits);
  CHECK(work < limits{}.judging_work);
}

TEST_CASE("the_work_of_a_message_grows_with_the_sum_of_live_and_named_events_not_their_product") {
  const auto work_to_judge = [](int held, int received) {
    // The rules report nothing here, so only the search is counted.
    scenario s(R"({"type":"hello","agents":["ada","bob","hub"],"mode":"observe",)"
               R"("rules":{"cross_lineage_aggregation":{"kinds":["none"]}}})");
    s.then(split("ada", held));
    return work_of(s, split("bob", received));
  };
  const std::uint64_t small = work_to_judge(500, 500), large = work_to_judge(5'000, 5'000);
  CHECK(large < 11 * small);
}

TEST_CASE("events_beyond_the_limit_of_work_are_delivered_unjudged_and_named_in_the_record") {
  std::vector<std::string> limit_lines, frames;
  ingest::replay through(run_policy{}, {.frame = [&](std::string_view frame) { frames.emplace_back(frame); },
                                        .record =
                                            [&](const ingest::record& record) {
                                              if (record.kind == ingest::record_kind::limit)
                                                limit_lines.emplace_back(record.frame);
                                            }});
  const auto line = [&](const std::string& text) { REQUIRE(through.line(text)); };
  line(R"({"type":"hello","protocol":1,"run":"r","clock":"trace","agents":["ada"],"limits":{"judging_work":40}})");
  line(R"({"type":"event","seq":1,"event":{"id":"open","recipients":["ada"]}})");
  line(R"({"type":"activation_started","seq":2,"activation":"v1","agent":"ada"})");
  CHECK(limit_lines.empty());
  std::string outputs;
  for (int i = 0; i < 20; ++i) outputs += R"({"id":"e)" + number(i) + R"(","recipients":["nobody"]},)";
  line(R"({"type":"activation_ended","seq":3,"activation":"v1","outputs":[)" + outputs +
       R"({"id":"s","submit":true}]})");
  REQUIRE(limit_lines.size() == 1);
  CHECK(limit_lines[0].find(R"({"type":"limit","limit":"judging_work","policy":"deliver","unjudged":)") == 0);
  CHECK(limit_lines[0].find(R"("s")") != std::string::npos);
  // The first events were judged, the last were not, and an answer that is delivered unjudged is let through.
  CHECK(frames.back().find(R"({"event":"e10000","action":"reroute")") != std::string::npos);
  CHECK(frames.back().find(R"({"event":"s","action":"deliver"})") != std::string::npos);
  CHECK(through.run()->terminal());
  // The limit applies to each message separately.
  line(R"({"type":"activation_started","seq":4,"activation":"v2","agent":"ada"})");
  CHECK(limit_lines.size() == 1);
}

TEST_CASE("replaying_a_record_with_unjudged_events_gives_the_same_answers") {
  std::vector<std::string> frames;
  ingest::replay through(run_policy{}, {.frame = [&](std::string_view frame) { frames.emplace_back(frame); }});
  CHECK(through.line(R"({"type":"hello","protocol":1,"run":"r","clock":"trace"})"));
  CHECK(through.line(
      R"({"type":"limit","limit":"judging_work","policy":"deliver","unjudged":1,"events":["e1"],"ts":5})"));
  CHECK(through.line(R"({"type":"event","seq":1,"event":{"id":"e1","recipients":["ada"]}})"));
  CHECK(frames ==
        std::vector<std::string>{R"({"type":"verdicts","seq":1,"verdicts":[{"event":"e1","action":"deliver"}]})"});
}
