// What one message may cost: identical questions are answered once, and `limits.judging_work` is the backstop.
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

TEST_CASE("an aggregator that holds 800 results and is given 700 more gets every verdict") {
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
  // 1,500 live and named events, and for each detection its own report; not 700 times 800.
  CHECK(work < 20 * 1'500 + 700 * 1'024 + graph::max_message_visits);
  CHECK(work < limits{}.judging_work);
}

TEST_CASE("the work of a message is the sum of what is live and what it names, not their product") {
  const auto judged = [](int held, int given) {
    // Rules are observed only, and off where they report: what is counted is the search.
    scenario s(
        R"({"type":"hello","agents":["ada","bob","hub"],"mode":"observe","rules":{"cross_lineage_aggregation":{"kinds":["none"]}}})");
    s.then(split("ada", held));
    return work_of(s, split("bob", given));
  };
  const std::uint64_t small = judged(500, 500), large = judged(5'000, 5'000);
  CHECK(large < 11 * small);
}

TEST_CASE("an event whose work is used up is delivered unjudged, like those after it, and the record names them") {
  std::vector<std::string> record, frames;
  ingest::replay through(run_policy{}, {.frame = [&](std::string_view frame) { frames.emplace_back(frame); },
                                        .record =
                                            [&](const ingest::record& given_record) {
                                              if (given_record.kind == ingest::record_kind::limit)
                                                record.emplace_back(given_record.frame);
                                            }});
  const auto line = [&](const std::string& text) { REQUIRE(through.line(text)); };
  line(R"({"type":"hello","protocol":1,"run":"r","clock":"trace","agents":["ada"],"limits":{"judging_work":40}})");
  line(R"({"type":"event","seq":1,"event":{"id":"open","recipients":["ada"]}})");
  line(R"({"type":"activation_started","seq":2,"activation":"v1","agent":"ada"})");
  CHECK(record.empty());
  std::string outputs;
  for (int i = 0; i < 20; ++i) outputs += R"({"id":"e)" + number(i) + R"(","recipients":["nobody"]},)";
  line(R"({"type":"activation_ended","seq":3,"activation":"v1","outputs":[)" + outputs +
       R"({"id":"s","submit":true}]})");
  REQUIRE(record.size() == 1);
  CHECK(record[0].find(R"({"type":"limit","limit":"judging_work","policy":"deliver","unjudged":)") == 0);
  CHECK(record[0].find(R"("s")") != std::string::npos);
  // The first events were judged, the last were not, and an answer that is delivered unjudged is let through.
  CHECK(frames.back().find(R"({"event":"e10000","action":"reroute")") != std::string::npos);
  CHECK(frames.back().find(R"({"event":"s","action":"deliver"})") != std::string::npos);
  CHECK(through.run()->terminal());
  // The next message has work of its own.
  line(R"({"type":"activation_started","seq":4,"activation":"v2","agent":"ada"})");
  CHECK(record.size() == 1);
}

TEST_CASE("a record with a line about unjudged events is followed to the same answers") {
  std::vector<std::string> frames;
  ingest::replay through(run_policy{}, {.frame = [&](std::string_view frame) { frames.emplace_back(frame); }});
  CHECK(through.line(R"({"type":"hello","protocol":1,"run":"r","clock":"trace"})"));
  CHECK(through.line(
      R"({"type":"limit","limit":"judging_work","policy":"deliver","unjudged":1,"events":["e1"],"ts":5})"));
  CHECK(through.line(R"({"type":"event","seq":1,"event":{"id":"e1","recipients":["ada"]}})"));
  CHECK(frames ==
        std::vector<std::string>{R"({"type":"verdicts","seq":1,"verdicts":[{"event":"e1","action":"deliver"}]})"});
}
