#include "analysis/report/parts.h"

#include <boost/json.hpp>
#include <catch2/catch.hpp>
#include <fstream>
#include <sstream>

#include "analysis/chief/features.h"
#include "analysis/report/chief_suspects.h"
#include "report/compose.h"
#include "report/conclusion.h"
#include "tests/analysis/chief/logs.h"

namespace digd::report {

namespace {

std::string demo() {
  std::ifstream file(DIGD_SOURCE_DIR "/tests/traces/demo.jsonl");
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

// a splits the task: x for b, y for a ghost; b makes two events of x that nobody takes up. The run adds risk.
const std::string hand_trace =
    R"({"type":"hello","protocol":1,"run":"hand","agents":["a","b"],"clock":"trace","mode":"observe"}
{"type":"event","seq":1,"ts":0,"event":{"id":"task","recipients":["a"]}}
{"type":"activation_started","seq":2,"ts":10,"activation":"A1","agent":"a","inputs":["task"]}
{"type":"activation_ended","seq":3,"ts":20,"activation":"A1","reactions":{},"outputs":[{"id":"x","recipients":["b"]},{"id":"y","recipients":["ghost"]}]}
{"type":"activation_started","seq":4,"ts":30,"activation":"B1","agent":"b","inputs":["x"]}
{"type":"activation_ended","seq":5,"ts":40,"activation":"B1","reactions":{},"outputs":[{"id":"z1","recipients":["a"]},{"id":"z2","recipients":["a"]}]}
)";

observed seen_of(const std::string& trace) {
  observer watch;
  std::istringstream lines(trace);
  for (std::string line; std::getline(lines, line);) REQUIRE(watch.line(line));
  return watch.finish();
}

trace_text holds(const std::string& trace) {
  return [&trace] { return std::string_view(trace); };
}

std::size_t pictures(const part& p) {
  std::size_t n = 0;
  for (const block& b : p.blocks)
    n += b.kind == block::kind::picture && b.figure.svg.starts_with("<svg class=\"chart\"");
  return n;
}

}  // namespace

TEST_CASE("the_Shapley_part_answers_who_when_and_what_with_its_numbers_and_their_sources") {
  const part p =
      shapley_part(holds(hand_trace), seen_of(hand_trace), "hand.jsonl", {.budget_seconds = 300, .threads = 2});
  REQUIRE(p.ran);
  CHECK(pictures(p) == 3);
  CHECK(p.answer.find("agent a added most risk") != std::string::npos);
  CHECK(p.origins.size() == 4);
  REQUIRE_FALSE(p.blamed.empty());
  CHECK(p.blamed.front().activation == "A1");
  REQUIRE_FALSE(p.suspects.empty());
  CHECK(p.scale == score_scale::shapley);
  CHECK(p.suspects.front().activation == "A1");
  CHECK_FALSE(p.suspects.front().evidence.empty());
  const conclusion found = conclude(seen_of(hand_trace), {p});
  CHECK(found.words.find("Most likely a, activation A1") == 0);
  const boost::json::value own = boost::json::parse(p.json);
  CHECK(own.at("estimator").as_string() == "exact");
}

TEST_CASE("an_activation_is_quoted_with_the_output_that_a_detection_is_about") {
  std::string trace = hand_trace;
  const auto says = [&](const std::string& event, const std::string& text) {
    const std::string id = "{\"id\":\"" + event + "\",";
    trace.replace(trace.find(id), id.size(), id + R"("payload":{"text":")" + text + "\"},");
  };
  says("x", "Fix the crash.");
  const auto quote = [&] {
    const part p = shapley_part(holds(trace), seen_of(trace), "hand.jsonl", {.budget_seconds = 300, .threads = 2});
    REQUIRE(p.suspects.front().activation == "A1");
    return p.suspects.front().quote;
  };
  CHECK(quote() == "Fix the crash.");
  says("y", "Write the \\\"manual\\\".");  // to a ghost
  CHECK(quote() == "Write the \"manual\".");
}

TEST_CASE("a_run_whose_activations_add_no_risk_together_has_nobody_to_blame_by_Shapley_value") {
  // One activation answers the task.
  const std::string trace =
      R"({"type":"hello","protocol":1,"run":"clean","agents":["a"],"clock":"trace","mode":"observe"}
{"type":"event","seq":1,"ts":0,"event":{"id":"task","recipients":["a"]}}
{"type":"activation_started","seq":2,"ts":10,"activation":"A1","agent":"a","inputs":["task"]}
{"type":"activation_ended","seq":3,"ts":20,"activation":"A1","outputs":[{"id":"answer","recipients":[],"submit":true}]}
)";
  const part p = shapley_part(holds(trace), seen_of(trace), "clean.jsonl", {.budget_seconds = 300, .threads = 2});
  REQUIRE(p.ran);
  CHECK(p.answer.find("nothing to attribute") != std::string::npos);
  CHECK(p.blamed.empty());
  CHECK(p.suspects.empty());
  CHECK(conclude(seen_of(trace), {p}).suspect.agent.empty());
  CHECK(pictures(p) == 0);
}

TEST_CASE("the_Shapley_part_is_left_out_if_it_would_take_too_long_and_states_its_cost") {
  observed seen = seen_of(demo());
  seen.activations = 100'000;
  seen.replay_seconds = 1;
  const part p = shapley_part(
      []() -> std::string_view {
        FAIL("the trace is not needed");
        return {};
      },
      seen, "demo.jsonl", {.budget_seconds = 20});
  CHECK_FALSE(p.ran);
  CHECK(p.not_run_reason.find("200,000 s") != std::string::npos);
  CHECK(p.command == "digctl attribute shapley demo.jsonl");
}

TEST_CASE("the_CHIEF_part_has_its_graph_its_suspects_and_its_oracles") {
  const std::string trace = demo();
  const part p = chief_part(holds(trace), seen_of(trace), "demo.jsonl", {});
  REQUIRE(p.ran);
  CHECK(pictures(p) == 1);
  CHECK(p.answer.find("CHIEF holds") == 0);
  CHECK(p.blamed.size() == 3);
  CHECK_NOTHROW(boost::json::parse(p.json));
  CHECK_FALSE(chief_part(holds(trace), seen_of(trace), "demo.jsonl", {.max_steps = 3}).ran);
  CHECK_FALSE(chief_part(holds(trace), seen_of(trace), "demo.jsonl", {.budget_seconds = 0}).ran);
}

TEST_CASE("only_what_went_wrong_is_evidence_against_a_step") {
  for (const auto* features : {&chief::chat_features(), &chief::orchestrated_features(), &chief::agent_features(),
                               &chief::generic_features()}) {
    for (const chief::feature_info& f : *features) {
      INFO(f.name);
      if (f.means == chief::bearing::circumstance) continue;
      CHECK(f.weighs == chief::leaning::accuses);
      // A sentence without an error uses words, names and values too.
      for (const char* shown_by_any_sentence : {"word", "name", "value", "new", "few", "much", "question"})
        CHECK(f.says.find(shown_by_any_sentence) == std::string_view::npos);
    }
  }
  const auto means = [](std::string_view says) {
    for (const chief::feature_info& f : chief::generic_features()) {
      if (f.says == says) return f.means;
    }
    return chief::bearing::circumstance;  // context, which orders nothing
  };
  const chief::flat_log log =
      tests::log_of("Count the boats of 1628.", {{"A", "I assume some boats, from Honolulu and Oahu."},
                                                 {"B", "exitcode: 1 (execution failed)\nCode output: Traceback"},
                                                 {"A", "Therefore the answer is Oahu."}});
  const chief::attribution a = chief::attribute(log);
  std::size_t faults = 0, circumstances = 0;
  for (const chief::suspect& s : a.ranking) {
    for (const chief::evidence& e : s.chain) {
      CHECK(e.accuses == (means(e.says) == chief::bearing::fault));
      ++(e.accuses ? faults : circumstances);
    }
  }
  CHECK(faults > 0);
  CHECK(circumstances > 0);
}

TEST_CASE("a_step_with_circumstances_alone_is_not_named") {
  const chief::flat_log log = tests::log_of("q", {{"A", "The island has 12 boats."}, {"B", "Yes."}, {"C", "Good."}});
  chief::attribution a;
  a.calibrated = true;
  a.ranking = {{.agent = "A", .step = 0, .probability = 0.9},
               {.agent = "B", .step = 1, .probability = 0.1},
               {.agent = "C", .step = 2, .probability = 0.0}};
  const auto conclusion_of = [&] {
    part p{.id = "decisive-error", .name = "CHIEF", .ran = true};
    add_suspects(p, log, a, 2);
    return conclude(run_facts{.ended = run_outcome::failure, .healed_rules = {}}, {p});
  };
  for (const auto* features : {&chief::chat_features(), &chief::orchestrated_features(), &chief::agent_features(),
                               &chief::generic_features()}) {
    std::vector<chief::evidence>& chain = a.ranking[0].chain;
    chain.clear();
    for (const chief::feature_info& f : *features) {
      if (f.means == chief::bearing::circumstance) chain.push_back({f.by, std::string(f.says), {0}, false, 2.0});
    }
    REQUIRE_FALSE(chain.empty());
    CHECK(conclusion_of().verdict == conclusion::kind::nobody);
    for (const chief::feature_info& f : *features) {
      if (f.means != chief::bearing::fault) continue;
      chain.push_back({f.by, std::string(f.says), {0}, true, 2.0});
      CHECK(conclusion_of().verdict == conclusion::kind::suspect);
      chain.pop_back();
    }
  }
}

TEST_CASE("numbers_without_a_source_are_evidence_and_names_are_not") {
  const auto evidence_of_first = [](const std::string& text) {
    const chief::flat_log log = tests::log_of("How high is the tower of 1889, in yards?",
                                              {{"Expert", text.c_str()}, {"Planner", "Based on that, go on."}});
    part p{.id = "decisive-error", .name = "CHIEF", .ran = true};
    add_suspects(p, log, chief::attribute(log), 2);
    for (const suspicion& s : p.suspects) {
      if (s.agent == "Expert") return s.evidence;
    }
    return std::string("not ranked");
  };
  CHECK(evidence_of_first("The tower has 1,083 feet, which are 361 yards.") ==
        "it states 1,083 and 361, which neither the task nor a step before gave");
  CHECK(evidence_of_first("The Eiffel Tower of 1889 stands in Paris. It has 3 floors, see release 2.1.").empty());
  CHECK(evidence_of_first("```python\nprint(1083)\n```").find("states") == std::string::npos);
}

TEST_CASE("causes_over_many_runs_come_from_a_given_result") {
  const part none = causal_part({});
  CHECK_FALSE(none.ran);
  CHECK(none.command.find("digctl causal") == 0);
  CHECK_FALSE(causal_part("{\"runs\":3}").ran);
  CHECK_FALSE(causal_part("no json").ran);
  const part p = causal_part(R"({"outcome":"success","runs":40,"factors":5,"stage":"boundary","notes":["one"],
    "levers":[{"factor":"<b>","evidence":"candidate","support":0.9,"p":0.01,)"
                             R"("p_given_rest":0.02,"words":"more helps"}]})");
  REQUIRE(p.ran);
  bool reported = false;
  for (const block& b : p.blocks)
    reported = reported || (b.kind == block::kind::table && b.table.rows.at(0).at(1) == "candidate");
  CHECK(reported);
}

}  // namespace digd::report
