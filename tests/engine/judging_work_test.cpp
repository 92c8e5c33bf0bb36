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
  const std::uint64_t before = s.graph().counters().visited;
  s.then(lines);
  return s.graph().counters().visited - before;
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

namespace {

// `{"id":"o10000",…},…`: n events with ids that begin with `name`.
std::string events(const std::string& name, int n, const std::string& rest) {
  std::string text;
  for (int i = 0; i < n; ++i) {
    if (i > 0) text += ',';
    text += R"({"id":")" + name + number(i) + "\"," + rest + '}';
  }
  return text;
}

std::string names(const std::string& name, int n, const std::string& rest = {}) {
  std::string text;
  for (int i = 0; i < n; ++i) text += (i > 0 ? ",\"" : "\"") + name + number(i) + '"' + rest;
  return text;
}

std::string started(const std::string& activation, const std::string& agent, const std::string& inputs = {}) {
  return R"({"type":"activation_started","activation":")" + activation + R"(","agent":")" + agent + R"(","inputs":[)" +
         inputs + "]}\n";
}

std::string ended(const std::string& activation, const std::string& reactions, const std::string& outputs) {
  return R"({"type":"activation_ended","activation":")" + activation + R"(","reactions":{)" + reactions +
         R"(},"outputs":[)" + outputs + "]}\n";
}

// A shape that an attack or a large system has: n live items, and a message that names n.
struct message_shape {
  const char* name;
  std::string (*live)(int n);
  std::string (*named)(int n);
};

const std::string to_hub = R"("recipients":["hub"])", submit = R"("recipients":[],"submit":true)";

const message_shape message_shapes[] = {
    {"answers while work waits", [](int n) { return split("ada", n) + '\n' + started("vs", "bob"); },
     [](int n) { return ended("vs", "", events("s", n, submit)); }},
    {"lineages at an aggregator",
     [](int n) {
       std::string text;
       for (int i = 0; i < n; ++i) {
         const std::string v = "v" + number(i);
         text += started(v, "a" + number(i)) + ended(v, "", events("l" + number(i), 1, to_hub));
       }
       return text + started("vx", "bob");
     },
     [](int n) { return ended("vx", "", events("x", n, to_hub)); }},
    {"recipients that each hold work",
     [](int n) {
       return started("vr", "ada") + ended("vr", "", R"({"id":"wide","recipients":[)" + names("r", n) + "]}") +
              started("vy", "bob");
     },
     [](int n) { return ended("vy", "", R"({"id":"wide2","recipients":[)" + names("r", n) + "]}"); }},
    {"results of inputs that were used before",
     [](int n) {
       const std::string inputs = names("ada", n);
       return split("ada", n) + '\n' + started("v1", "hub", inputs) +
              ended("v1", names("ada", n, R"(:"consume")"), R"({"id":"first","recipients":["bob"]})") +
              started("v2", "bob", inputs);
     },
     [](int n) { return ended("v2", names("ada", n, R"(:"consume")"), events("again", n - 1, to_hub)); }},
    {"reroutes to an agent that holds work",
     [](int n) { return split("ada", n) + '\n' + split("bob", n) + '\n' + started("v3", "hub", names("bob", n)); },
     [](int n) { return ended("v3", names("bob", n, R"(:{"reroute":["hub"]})"), ""); }},
    {"orphans", [](int n) { return split("ada", n); },
     [](int n) { return started("v4", "bob") + ended("v4", "", events("lost", n, R"("recipients":["ghost"])")); }},
};

}  // namespace

// Twice as much live and twice as much named is four times as much where a cost is their product.
TEST_CASE("no_shape_costs_the_product_of_what_is_live_and_what_a_message_names") {
  const message_shape& of = message_shapes[GENERATE(0, 1, 2, 3, 4, 5)];
  const auto work = [&](int n) {
    std::string agents = R"("ada","bob","hub")";
    for (int i = 0; i < n; ++i) agents += ",\"r" + number(i) + "\",\"a" + number(i) + '"';
    scenario s(R"({"type":"hello","mode":"observe","limits":{"judging_work":1000000000},"agents":[)" + agents + "]}");
    s.then(of.live(n));
    const std::uint64_t visited = work_of(s, of.named(n));
    CHECK(s.errors.empty());
    return visited;
  };
  const std::uint64_t once = work(1'500), twice = work(3'000);
  INFO(of.name << ": " << once << " ids visited, then " << twice);
  CHECK(twice < 3 * once);
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
