// Cross-lineage aggregation (CLA): an agent receives work while it holds work of an unrelated decomposition.
#include <catch2/catch.hpp>

#include "tests/rules/firing.h"

using namespace digd;
using namespace digd::tests;
using strings = std::vector<std::string>;

namespace {

// The planner and the lead each split a problem; bob receives a part of both.
const firing two_splits{.rule = "cross_lineage_aggregation",
                        .hello = R"("agents":["planner","lead","ada","bob","cy"])",
                        .lines = R"(
{"type":"event","event":{"id":"e1","recipients":["planner","lead"]}}
{"type":"activation_started","activation":"v1","agent":"planner","inputs":["e1"]}
{"type":"activation_ended","activation":"v1","outputs":[)"
                                 R"({"id":"e2","recipients":["ada"]},{"id":"e3","recipients":["bob"]}]}
{"type":"activation_started","activation":"v2","agent":"lead","inputs":["e1"]}
)",
                        .last = R"({"type":"activation_ended","activation":"v2","ts":7,"outputs":[)"
                                R"({"id":"e4","recipients":["cy"]},{"id":"e5","recipients":["bob"]}]})"};

scenario after_splits(const std::string& hello, const std::string& lines) {
  return scenario(R"({"type":"hello",)" + hello + "}" + two_splits.lines + lines);
}
const std::string roster = R"("agents":["planner","lead","ada","bob","cy"])";

}  // namespace

TEST_CASE("work_of_another_split_carries_a_text_that_names_both_origins") {
  const scenario s = play(two_splits);
  const detection& d = s.only();
  CHECK(summary(d) == "cross_lineage_aggregation e5 @bob [e3] inject");
  CHECK(d.severity == severity::warning);
  CHECK(d.at == 5u);
  CHECK(d.ts == 7);
  CHECK(d.reason == R"(Agent "bob" is given "e5" while it holds 1 event of another lineage: "e3".)");
  CHECK(s.verdict_on("e4").action == action::deliver);
  CHECK(s.verdict_on("e5").action == action::inject);
  CHECK(s.verdict_on("e5").inject ==
        R"(To agent "bob": the event "e5" comes from the split "v2" by agent "lead". You also hold "e3" of another )"
        R"(decomposition (the split "v1" by agent "planner"). Do not combine them as if they were parts of one whole: )"
        R"(check what each covers, and answer them separately. If both divide the same problem, keep the older )"
        R"(division: consume the parts of the younger one ("e5") without working on them.)");
}

TEST_CASE("cross_lineage_aggregation_ignores_near_misses") {
  const auto detections_after = [](const std::string& lines) {
    return after_splits(roster, lines).detection_summaries();
  };
  // Bob has consumed the first part.
  CHECK(detections_after(R"(
{"type":"activation_started","activation":"v3","agent":"bob","inputs":["e3"]}
{"type":"activation_ended","activation":"v3"}
{"type":"activation_ended","activation":"v2","outputs":[)"
                         R"({"id":"e4","recipients":["cy"]},{"id":"e5","recipients":["bob"]}]})") == strings{});
  // The lead's activation is problem-reducing: one input, one output.
  CHECK(detections_after(
            R"({"type":"activation_ended","activation":"v2","outputs":[{"id":"e5","recipients":["bob"]}]})") ==
        strings{});
  // Parts of one split, and the events derived from them.
  CHECK(detections_after(R"(
{"type":"activation_started","activation":"v3","agent":"ada","inputs":["e2"]}
{"type":"activation_ended","activation":"v3","outputs":[{"id":"e6","recipients":["bob"]}]})") == strings{});
  // A root event belongs to no lineage.
  CHECK(detections_after(R"({"type":"event","event":{"id":"e6","recipients":["bob"]}})") == strings{});
  // An fyi event clashes with no other.
  CHECK(detections_after(R"({"type":"activation_ended","activation":"v2","outputs":[)"
                         R"({"id":"e4","recipients":["cy"]},{"id":"e5","recipients":["bob"],"fyi":true}]})") ==
        strings{});
  // An agent outside the roster holds no work.
  CHECK(detections_after(R"(
{"type":"agent_left","agent":"bob"}
{"type":"activation_ended","activation":"v2","outputs":[)"
                         R"({"id":"e4","recipients":["cy"]},{"id":"e5","recipients":["bob","cy"]}]})") == strings{});
}

TEST_CASE("an_event_that_descends_from_both_splits_clashes_with_neither") {
  const scenario s = after_splits(roster, R"(
{"type":"activation_ended","activation":"v2","outputs":[)"
                                          R"({"id":"e4","recipients":["ada"]},{"id":"e5","recipients":["cy"]}]}
{"type":"activation_started","activation":"v3","agent":"ada","inputs":["e2","e4"]}
{"type":"activation_ended","activation":"v3","outputs":[{"id":"e6","recipients":["bob","cy"]}]})");
  CHECK(s.detection_summaries() ==
        strings{"cross_lineage_aggregation e4 @ada [e2] inject"});  // not e6 at bob, who has e3, nor at cy, who has e5
}

TEST_CASE("each_recipient_with_other_work_is_reported_in_order_and_none_counts_as_recurred") {
  const scenario s =
      after_splits(roster, R"(
{"type":"activation_ended","activation":"v2","outputs":[)"
                           R"({"id":"e4","recipients":["cy"]},{"id":"e5","recipients":["bob","cy","ada"]}]})");
  CHECK(s.detection_summaries() ==
        strings{"cross_lineage_aggregation e5 @bob [e3] inject", "cross_lineage_aggregation e5 @ada [e2] inject"});
  CHECK(s.outcome_summaries() == strings{});
  CHECK(s.verdict_on("e5").detections == std::vector<std::uint32_t>{0, 1});
  const std::string& text = s.verdict_on("e5").inject;
  CHECK(text.find("To agent \"bob\"") == 0);
  CHECK(text.find("without working on them.\n\nTo agent \"ada\"") != std::string::npos);
  CHECK(s.run().healing().budget_used() == 1);
}

TEST_CASE("the_younger_lineage_is_the_one_whose_split_began_later_whichever_event_comes_last") {
  const scenario s = after_splits(roster, R"(
{"type":"activation_ended","activation":"v2","outputs":[)"
                                          R"({"id":"e4","recipients":["cy"]},{"id":"e5","recipients":["cy"]}]}
{"type":"activation_started","activation":"v3","agent":"ada","inputs":["e2"]}
{"type":"activation_ended","activation":"v3","outputs":[{"id":"e6","recipients":["cy"]}]})");
  CHECK(s.detection_summaries() == strings{"cross_lineage_aggregation e6 @cy [e4, e5] inject"});
  CHECK(s.verdict_on("e6").inject.find(R"(parts of the younger one ("e4", "e5") without)") != std::string::npos);
}

TEST_CASE("a_rerouted_event_is_compared_with_the_work_of_its_new_recipients") {
  const scenario s = after_splits(roster, R"(
{"type":"activation_ended","activation":"v2","outputs":[)"
                                          R"({"id":"e4","recipients":["cy"]},{"id":"e5","recipients":["cy"]}]}
{"type":"activation_started","activation":"v3","agent":"cy","inputs":["e5"]}
{"type":"activation_ended","activation":"v3","reactions":{"e5":{"reroute":["bob"]}}})");
  CHECK(s.detection_summaries() == strings{"cross_lineage_aggregation e5 @bob [e3] inject"});
}

TEST_CASE("cross_lineage_aggregation_compares_only_events_of_the_configured_kinds") {
  const auto with = [](const std::string& kinds, const std::string& first, const std::string& second) {
    scenario s(R"({"type":"hello","rules":{"cross_lineage_aggregation":{"kinds":)" + kinds + "}}}");
    s.then(R"({"type":"activation_started","activation":"v1","agent":"ada"})");
    s.then(R"({"type":"event","event":{"id":"e1","source":"v1","recipients":["cy"])" + first + "}}");
    s.then(R"({"type":"activation_started","activation":"v2","agent":"bob"})");
    s.then(R"({"type":"event","event":{"id":"e2","source":"v2","recipients":["cy"])" + second + "}}");
    return s.detections.size();
  };
  const std::string part = R"(,"kind":"part")", chat = R"(,"kind":"chat")";
  CHECK(with(R"(["part"])", part, part) == 1);
  CHECK(with(R"(["part"])", part, chat) == 0);
  CHECK(with(R"(["part"])", chat, part) == 0);
  CHECK(with(R"(["part"])", "", part) == 0);
  CHECK(with(R"(["part","chat"])", chat, part) == 1);
  CHECK(with("[]", "", part) == 1);
}

TEST_CASE("an_event_with_too_many_generators_is_not_compared_but_counted") {
  const scenario s = after_splits(roster + R"(,"limits":{"generators":1})",
                                  R"(
{"type":"activation_ended","activation":"v2","outputs":[)"
                                  R"({"id":"e4","recipients":["ada"]},{"id":"e5","recipients":["cy"]}]}
{"type":"activation_started","activation":"v3","agent":"ada","inputs":["e2","e4"]}
{"type":"activation_ended","activation":"v3","outputs":[{"id":"e6","recipients":["planner"]}]}
{"type":"activation_started","activation":"v4","agent":"lead"}
{"type":"event","event":{"id":"e7","source":"v4","recipients":["planner"]}})");
  CHECK(s.detection_summaries() == strings{"cross_lineage_aggregation e4 @ada [e2] inject"});
  CHECK(s.graph().counters().generator_overflows == 1);
}

TEST_CASE("cross_lineage_aggregation_follows_modes_and_reports_causes") { check_causes(two_splits); }

TEST_CASE("a_configured_text_for_cross_lineage_aggregation_may_use_all_its_placeholders") {
  check_text_override(two_splits, "{agent}|{event}|{origin}|{work}|{other_origin}",
                      R"("bob"|"e5"|the split "v2" by agent "lead"|"e3"|the split "v1" by agent "planner")");
}

TEST_CASE("where_the_events_that_clash_differ_in_origin_the_text_names_that_of_each") {
  scenario s(R"({"type":"hello","agents":["ada","bob","cy"]})");
  for (const char* n : {"1", "2", "3"}) {
    const std::string v = std::string("v") + n;
    s.then(R"({"type":"activation_started","activation":")" + v + R"(","agent":"ada"})");
    s.then(R"({"type":"event","event":{"id":"e)" + std::string(n) + R"(","source":")" + v +
           R"(","recipients":["bob"]}})");
  }
  CHECK(s.detections.back().reason ==
        R"(Agent "bob" is given "e3" while it holds 2 events of other lineages: "e1", "e2".)");
  CHECK(injected(s).find(R"(You also hold "e1", "e2" of another decomposition ("e1" from the split "v1" by agent )"
                         R"("ada", "e2" from the split "v2" by agent "ada").)") != std::string::npos);
}

TEST_CASE("cross_lineage_aggregation_quotes_names_chosen_by_agents_as_data") {
  scenario s(R"({"type":"hello"})");
  const std::string v = json_string(hostile('v')), a = json_string(hostile('a')), e = json_string(hostile('e')),
                    b = json_string(hostile('b'));
  s.then(R"({"type":"activation_started","activation":)" + v + R"(,"agent":)" + a + "}");
  s.then(R"({"type":"event","event":{"id":)" + e + R"(,"source":)" + v + R"(,"recipients":[)" + b + "]}}");
  s.then(R"({"type":"activation_started","activation":"v2","agent":"ada"})");
  s.then(R"({"type":"event","event":{"id":"e2","source":"v2","recipients":[)" + b + "]}}");
  CHECK(s.only().agent == hostile('b'));
  CHECK(s.only().reason == "Agent " + hostile_quoted('b') +
                               " is given \"e2\" while it holds 1 event of another lineage: " + hostile_quoted('e') +
                               ".");
  CHECK(s.verdict_on("e2").inject.find("You also hold " + hostile_quoted('e') +
                                       " of another decomposition (the split " + hostile_quoted('v') + " by agent " +
                                       hostile_quoted('a') + ").") != std::string::npos);
}

TEST_CASE("cross_lineage_aggregation_shortens_long_lists_in_text_and_evidence") {
  scenario s(R"({"type":"hello","agents":["ada","bob"]})"
             "\n"
             R"({"type":"activation_started","activation":"v1","agent":"ada"})");
  for (int i = 0; i < 1002; ++i) {
    s.then(R"({"type":"event","event":{"source":"v1","recipients":["bob"],"id":"e)" + std::to_string(1000 + i) +
           R"("}})");
  }
  s.then(R"(
{"type":"activation_started","activation":"v2","agent":"ada"}
{"type":"event","event":{"id":"x","source":"v2","recipients":["bob"]}})");
  const detection& d = s.only();
  CHECK(d.evidence_total == 1002);
  REQUIRE(d.evidence.size() == 64);
  CHECK(d.evidence.back() == "e1063");
  CHECK(d.reason ==
        R"(Agent "bob" is given "x" while it holds 1002 events of another lineage: "e1000", "e1001", "e1002", )"
        R"("e1003", "e1004", "e1005", "e1006", "e1007" and 994 more.)");
  CHECK(d.witness.truncated);
  CHECK(d.witness.events.size() + d.witness.activations.size() == 64);
}

TEST_CASE("of_many_origins_the_text_names_eight_and_counts_the_others") {
  scenario s(R"({"type":"hello","rules":{"cross_lineage_aggregation":{"text":"{origin}"}}})");
  std::string inputs;
  for (int i = 0; i < 10; ++i) {
    const std::string n = std::to_string(i);
    s.then(R"({"type":"activation_started","activation":"v)" + n + R"(","agent":"a)" + n + R"("})");
    s.then(R"({"type":"event","event":{"id":"e)" + n + R"(","source":"v)" + n + R"(","recipients":["hub)" + n +
           R"("]}})");
    inputs += (i > 0 ? ",\"e" : "\"e") + n + '"';
  }
  s.then(R"({"type":"activation_started","activation":"w","agent":"hub","inputs":[)" + inputs + "]}");
  s.then(R"({"type":"activation_started","activation":"x","agent":"zoe"}
{"type":"event","event":{"id":"f","source":"x","recipients":["bob"]}}
{"type":"event","event":{"id":"g","source":"w","recipients":["bob"]}})");
  CHECK(summary(s.only()) == "cross_lineage_aggregation g @bob [f] inject");
  CHECK(injected(s).starts_with(R"(the split "v0" by agent "a0", the split "v1" by agent "a1")"));
  CHECK(injected(s).ends_with(R"(the split "v7" by agent "a7" and 2 more)"));
}

TEST_CASE("the_witness_of_cross_lineage_aggregation_joins_the_clashing_events_with_their_origins") {
  const scenario s = play(two_splits);
  const witness& w = s.only().witness;
  CHECK(nodes(w) == "e1 e3 e5 | v1 v2");
  CHECK(edges(w) == strings{"e1 > v1 consume", "e1 > v2 consume", "e3 .. bob", "e5 .. bob", "v1 > e3", "v2 > e5"});
  CHECK(connected(w));
  CHECK_FALSE(w.truncated);
}

TEST_CASE("a_clash_is_cleared_when_the_agent_handles_one_lineage_and_recurs_when_it_consumes_both_at_once") {
  const auto after = [](const std::string& lines) {
    scenario s = play(two_splits);
    return s.then(lines).outcome_summaries();
  };
  CHECK(after(R"(
{"type":"activation_started","activation":"v3","agent":"bob","inputs":["e3"]}
{"type":"activation_ended","activation":"v3","ts":20})") == strings{"cross_lineage_aggregation e5 cleared at 20"});
  CHECK(after(R"(
{"type":"activation_started","activation":"v3","agent":"bob","inputs":["e3","e5"]}
{"type":"activation_ended","activation":"v3","reactions":{"e3":"discard"},"ts":20})") ==
        strings{"cross_lineage_aggregation e5 cleared at 20"});
  CHECK(after(R"(
{"type":"activation_started","activation":"v3","agent":"bob","inputs":["e3","e5"]}
{"type":"activation_ended","activation":"v3","ts":20})") == strings{"cross_lineage_aggregation e5 recurred at 20"});
  CHECK(after(R"(
{"type":"activation_started","activation":"v3","agent":"bob","inputs":["e3","e5"]}
{"type":"run_ended","outcome":"success","ts":20})") == strings{"cross_lineage_aggregation e5 unresolved at 20"});
}

TEST_CASE("consuming_both_at_once_is_reported_even_if_the_run_forgets_them_with_that_message") {
  scenario s = play(two_splits, R"("limits":{"settled_events":0})");
  s.then(R"(
{"type":"activation_started","activation":"v3","agent":"bob","inputs":["e3","e5"]}
{"type":"activation_ended","activation":"v3","ts":20})");
  CHECK(s.outcome_summaries() == strings{"cross_lineage_aggregation e5 recurred at 20"});
}
