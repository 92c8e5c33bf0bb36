// Early termination (ET): an answer is submitted while work that it does not build on is still reachable.
#include <catch2/catch.hpp>

#include "tests/rules/firing.h"

using namespace digd;
using namespace digd::tests;
using strings = std::vector<std::string>;

namespace {

// The planner splits e1 in two; the coder submits its part while the tester's part waits.
const firing early_answer{.rule = "early_termination",
                          .hello = R"("agents":["planner","coder","tester"])",
                          .lines = R"(
{"type":"event","event":{"id":"e1","recipients":["planner"]}}
{"type":"activation_started","activation":"v1","agent":"planner","inputs":["e1"]}
{"type":"activation_ended","activation":"v1","outputs":[)"
                                   R"({"id":"e2","recipients":["coder"]},{"id":"e3","recipients":["tester"]}]}
{"type":"activation_started","activation":"v2","agent":"coder","inputs":["e2"]}
)",
                          .last = R"({"type":"activation_ended","activation":"v2","ts":7,"outputs":[)"
                                  R"({"id":"e4","recipients":["tester"],"submit":true}]})"};

}  // namespace

TEST_CASE("an_answer_that_leaves_out_reachable_work_is_given_back_to_its_author") {
  const scenario s = play(early_answer);
  const detection& d = s.only();
  CHECK(summary(d) == "early_termination e4 [e3] reroute");
  CHECK(d.severity == severity::failure);
  CHECK(d.session == "main");
  CHECK(d.at == 5u);
  CHECK(d.ts == 7);
  CHECK(d.agent == std::nullopt);
  CHECK(d.evidence_total == 1);
  CHECK(d.reason == R"(The answer "e4" was submitted while 1 event it does not build on is unresolved: "e3" of agent )"
                    R"("planner" (waiting at "tester").)");
  CHECK(s.verdict_on("e4").action == action::reroute);
  CHECK(s.verdict_on("e4").recipients == strings{"coder"});
  CHECK(
      s.verdict_on("e4").inject ==
      R"(Your final answer "e4" was not accepted yet: 1 piece of work it does not build on is still unresolved: "e3" )"
      R"(of agent "planner" (waiting at "tester"). Most of it waits at "tester". Your answer is back with you as )"
      R"(ordinary work. If it lacks more than half, pass it on to that agent with your results, unless that is you. )"
      R"(Otherwise do not just wait: delegate what is missing to free agents ("planner", "tester"), and delegate it )"
      R"(again if no result arrives. Consume what is obsolete. Submit again only when nothing is missing, with an )"
      R"(answer that builds on this one. Count nothing twice; if your answer does, rebuild it from results that do )"
      R"(not overlap.)");
  CHECK(s.reachable() == strings{"e3", "e4"});
  CHECK_FALSE(s.run().terminal());
}

TEST_CASE("several_unresolved_events_are_written_in_the_plural_with_all_their_holders") {
  scenario s(R"(
{"type":"hello","agents":["ada","bob","cy"]}
{"type":"event","event":{"id":"e2","recipients":["bob","cy"]}}
{"type":"event","event":{"id":"e1","recipients":["bob"]}}
{"type":"activation_started","activation":"v1","agent":"ada"}
{"type":"event","event":{"id":"e9","source":"v1","submit":true}})");
  CHECK(summary(s.only()) == "early_termination e9 [e1, e2] reroute");
  CHECK(s.only().reason ==
        R"(The answer "e9" was submitted while 2 events it does not build on are unresolved: "e1" (waiting at )"
        R"("bob"), "e2" (waiting at "bob", "cy").)");
  CHECK(s.verdict_on("e9").inject.starts_with(
      R"(Your final answer "e9" was not accepted yet: 2 pieces of work it does not build on are still )"
      R"(unresolved: "e1" (waiting at "bob"), "e2")"));
}

TEST_CASE("the_text_names_who_holds_most_of_the_work_and_the_free_agents_with_least_work_first") {
  scenario s(R"(
{"type":"hello","agents":["ada","bob","cy","dee","eve"]}
{"type":"event","event":{"id":"e1","recipients":["bob","cy"]}}
{"type":"event","event":{"id":"e2","recipients":["cy"]}}
{"type":"event","event":{"id":"e3","recipients":["dee"]}}
{"type":"activation_started","activation":"v1","agent":"ada"}
{"type":"activation_started","activation":"v2","agent":"dee","inputs":["e3"]}
{"type":"event","event":{"id":"e9","source":"v1","submit":true}})");
  const std::string& text = s.verdict_on("e9").inject;
  CHECK(text.find(R"(Most of it waits at "cy".)") != std::string::npos);
  CHECK(text.find(R"(to free agents ("eve", "bob", "cy"),)") != std::string::npos);
}

TEST_CASE("where_every_agent_is_active_the_text_names_no_free_agent") {
  scenario s(R"(
{"type":"hello","agents":["ada","bob"]}
{"type":"event","event":{"id":"e1","recipients":["bob"]}}
{"type":"activation_started","activation":"v1","agent":"ada"}
{"type":"activation_started","activation":"v2","agent":"bob","inputs":["e1"]}
{"type":"event","event":{"id":"e9","source":"v1","submit":true}})");
  CHECK(s.verdict_on("e9").inject.find("to free agents (nobody),") != std::string::npos);
}

TEST_CASE("early_termination_delivers_near_misses_unchanged") {
  const auto check_let_through = [](const std::string& lines) {
    scenario s(R"({"type":"hello","agents":["ada","bob","cy"]})");
    s.then(lines);
    INFO(lines);
    CHECK(s.detection_summaries() == strings{});
    CHECK(s.run().terminal());
    CHECK(s.verdict_on("e9").action == action::deliver);
  };
  // All work is consumed or discarded.
  check_let_through(R"(
{"type":"event","event":{"id":"e1","recipients":["ada"]}}
{"type":"event","event":{"id":"e2","recipients":["ada"]}}
{"type":"activation_started","activation":"v1","agent":"ada","inputs":["e1","e2"]}
{"type":"activation_ended","activation":"v1","reactions":{"e2":"discard"},"outputs":[{"id":"e9","submit":true}]})");
  // The answer builds on work that still waits elsewhere, directly and through other events.
  check_let_through(R"(
{"type":"event","event":{"id":"e1","recipients":["ada","bob"]}}
{"type":"activation_started","activation":"v1","agent":"ada","inputs":["e1"]}
{"type":"activation_ended","activation":"v1","outputs":[{"id":"e2","recipients":["cy","bob"]}]}
{"type":"activation_started","activation":"v2","agent":"cy","inputs":["e2"]}
{"type":"event","event":{"id":"e9","source":"v2","submit":true}})");
  // While the activation of its author is open, all its inputs count as used.
  check_let_through(R"(
{"type":"event","event":{"id":"e1","recipients":["ada"]}}
{"type":"activation_started","activation":"v1","agent":"ada","inputs":["e1"]}
{"type":"event","event":{"id":"e9","source":"v1","submit":true}})");
  // Only an fyi event waits.
  check_let_through(R"(
{"type":"event","event":{"id":"e1","recipients":["bob"],"fyi":true}}
{"type":"activation_started","activation":"v1","agent":"ada"}
{"type":"event","event":{"id":"e9","source":"v1","submit":true}})");
  // The agent that held the work has left.
  check_let_through(R"(
{"type":"event","event":{"id":"e1","recipients":["bob"]}}
{"type":"agent_left","agent":"bob"}
{"type":"activation_started","activation":"v1","agent":"ada"}
{"type":"event","event":{"id":"e9","source":"v1","submit":true}})");
}

TEST_CASE("an_input_that_the_author_leaves_waiting_counts_once_the_activation_has_ended") {
  scenario s(R"(
{"type":"hello","agents":["ada"]}
{"type":"event","event":{"id":"e1","recipients":["ada"]}}
{"type":"activation_started","activation":"v1","agent":"ada","inputs":["e1"]}
{"type":"activation_ended","activation":"v1","reactions":{"e1":"wait"},"outputs":[{"id":"e9","submit":true}]})");
  CHECK(summary(s.only()) == "early_termination e9 [e1] reroute");
}

TEST_CASE("an_answer_given_back_is_work_that_the_next_answer_must_build_on") {
  scenario s = play(early_answer);
  s.then(R"(
{"type":"activation_started","activation":"v3","agent":"tester","inputs":["e3"]}
{"type":"activation_ended","activation":"v3","outputs":[{"id":"e5","submit":true}]})");
  CHECK(s.detection_summaries().back() == "early_termination e5 [e4] reroute");
  CHECK(s.reachable() == strings{"e4", "e5"});
  s.then(R"(
{"type":"activation_started","activation":"v4","agent":"coder","inputs":["e4"]}
{"type":"activation_ended","activation":"v4","outputs":[{"id":"e6","recipients":["tester"]}]}
{"type":"activation_started","activation":"v5","agent":"tester","inputs":["e5","e6"]}
{"type":"activation_ended","activation":"v5","outputs":[{"id":"e7","submit":true}]})");
  CHECK(s.detections.size() == 2);
  CHECK(s.run().terminal());
}

TEST_CASE("early_termination_counts_only_unresolved_work_of_the_configured_kinds") {
  const auto with = [](const std::string& kinds) {
    scenario s(R"({"type":"hello","agents":["ada","bob"],"rules":{"early_termination":{"kinds":)" + kinds + "}}}");
    s.then(R"(
{"type":"event","event":{"id":"e1","recipients":["bob"],"kind":"chat"}}
{"type":"event","event":{"id":"e2","recipients":["bob"],"kind":"task"}}
{"type":"event","event":{"id":"e3","recipients":["bob"]}}
{"type":"activation_started","activation":"v1","agent":"ada"}
{"type":"event","event":{"id":"e9","source":"v1","submit":true}})");
    return s.detection_summaries();
  };
  CHECK(with(R"(["task"])") == strings{"early_termination e9 [e2] reroute"});
  CHECK(with(R"(["task","chat"])") == strings{"early_termination e9 [e1, e2] reroute"});
  CHECK(with("[]") == strings{"early_termination e9 [e1, e2, e3] reroute"});
  CHECK(with(R"(["other"])") == strings{});
}

namespace {

// e1 reaches ada and bob. Both split it, bob after ada had consumed it: e4 and what is derived from it are repeated.
constexpr const char* two_split_the_same_work = R"(
{"type":"event","event":{"id":"e1","recipients":["ada","bob"]}}
{"type":"activation_started","activation":"v1","agent":"ada","inputs":["e1"]}
{"type":"activation_ended","activation":"v1","outputs":[{"id":"e2","recipients":["cy"]},{"id":"e3","recipients":["ada"]}]}
{"type":"activation_started","activation":"v2","agent":"bob","inputs":["e1"]}
{"type":"activation_ended","activation":"v2","outputs":[{"id":"e4","recipients":["dee"]},{"id":"e5","recipients":["eve"]}]}
{"type":"activation_started","activation":"v3","agent":"dee","inputs":["e4"]}
{"type":"activation_ended","activation":"v3","outputs":[{"id":"e6","recipients":["eve"]}]})";

strings findings_with_repeated_skipped(const std::string& lines) {
  scenario s(R"({"type":"hello","agents":["ada","bob","cy","dee","eve"],)"
             R"("rules":{"early_termination":{"skip_repeated":true},"cross_lineage_aggregation":{"mode":"off"}}})");
  s.then(lines);
  return s.detection_summaries();
}

constexpr const char* ada_answers_with_all = R"(
{"type":"activation_started","activation":"v7","agent":"cy","inputs":["e2"]}
{"type":"activation_ended","activation":"v7","outputs":[{"id":"e7","recipients":["ada"]}]}
{"type":"activation_started","activation":"v8","agent":"ada","inputs":["e3","e7"]}
{"type":"activation_ended","activation":"v8","outputs":[{"id":"e9","submit":true}]})";

}  // namespace

TEST_CASE("repeated_work_holds_an_answer_back_unless_it_is_skipped") {
  const std::string lines = std::string(two_split_the_same_work) + ada_answers_with_all;
  CHECK(findings_with_repeated_skipped(lines) == strings{});
  scenario by_default(R"({"type":"hello","agents":["ada","bob","cy","dee","eve"]})");
  by_default.then(lines);
  CHECK(by_default.detection_summaries().back() == "early_termination e9 [e5, e6] reroute");
}

TEST_CASE("the_text_names_no_repeated_work_if_it_is_skipped") {
  scenario s(
      R"({"type":"hello","agents":["ada","bob","cy","dee","eve"],"rules":{"early_termination":{"skip_repeated":true}}})");
  s.then(two_split_the_same_work);
  s.then(R"(
{"type":"activation_started","activation":"v8","agent":"ada","inputs":["e3"]}
{"type":"activation_ended","activation":"v8","outputs":[{"id":"e9","submit":true}]})");
  CHECK(s.detection_summaries().back() == "early_termination e9 [e2] reroute");
  CHECK(s.verdict_on("e9").inject.find(R"("e2" of agent "ada" (waiting at "cy"))") != std::string::npos);
  CHECK(s.verdict_on("e9").inject.find(R"("e5")") == std::string::npos);
}

TEST_CASE("work_is_not_repeated_if_nobody_else_has_completed_its_source") {
  // Siblings: one activation splits e1.
  CHECK(findings_with_repeated_skipped(R"(
{"type":"event","event":{"id":"e1","recipients":["ada"]}}
{"type":"activation_started","activation":"v1","agent":"ada","inputs":["e1"]}
{"type":"activation_ended","activation":"v1","outputs":[{"id":"e2","recipients":["bob"]},{"id":"e3","recipients":["cy"]}]}
{"type":"activation_started","activation":"v2","agent":"bob","inputs":["e2"]}
{"type":"activation_ended","activation":"v2","outputs":[{"id":"e9","submit":true}]})") ==
        strings{"early_termination e9 [e3] reroute"});
  // The other activation that had e1 failed, left it waiting, discarded it, or has not ended.
  for (const char* other : {R"({"type":"activation_ended","activation":"v1","failed":true})",
                            R"({"type":"activation_ended","activation":"v1","reactions":{"e1":"wait"}})",
                            R"({"type":"activation_ended","activation":"v1","reactions":{"e1":"discard"}})", ""}) {
    INFO(other);
    const strings found = findings_with_repeated_skipped(std::string(R"(
{"type":"event","event":{"id":"e1","recipients":["ada","bob"]}}
{"type":"activation_started","activation":"v1","agent":"ada","inputs":["e1"]}
)") + other + R"(
{"type":"activation_started","activation":"v2","agent":"bob","inputs":["e1"]}
{"type":"activation_ended","activation":"v2","outputs":[{"id":"e2","recipients":["cy"]}]}
{"type":"activation_started","activation":"v3","agent":"dee"}
{"type":"activation_ended","activation":"v3","outputs":[{"id":"e9","submit":true}]})");
    REQUIRE(found.size() == 1);
    CHECK(found.front().find("e2") != std::string::npos);
  }
  // Work derived from repeated work and from other work is new.
  CHECK(findings_with_repeated_skipped(std::string(two_split_the_same_work) + R"(
{"type":"event","event":{"id":"e8","recipients":["eve"]}}
{"type":"activation_started","activation":"v4","agent":"eve","inputs":["e5","e6","e8"]}
{"type":"activation_ended","activation":"v4","outputs":[{"id":"e10","recipients":["dee"]}]})" +
                                       ada_answers_with_all) == strings{"early_termination e9 [e10] reroute"});
}

TEST_CASE("a_repeated_answer_that_was_given_back_must_be_built_on") {
  const strings found = findings_with_repeated_skipped(std::string(two_split_the_same_work) + R"(
{"type":"activation_started","activation":"v4","agent":"eve","inputs":["e5","e6"]}
{"type":"activation_ended","activation":"v4","outputs":[{"id":"e8","submit":true}]}
{"type":"activation_started","activation":"v5","agent":"cy","inputs":["e2"]}
{"type":"activation_ended","activation":"v5","outputs":[{"id":"e7","recipients":["ada"]}]}
{"type":"activation_started","activation":"v6","agent":"ada","inputs":["e3","e7"]}
{"type":"activation_ended","activation":"v6","outputs":[{"id":"e9","submit":true}]})");
  CHECK(found == strings{"early_termination e8 [e2, e3] reroute", "early_termination e9 [e8] reroute"});
}

TEST_CASE("of_very_many_agents_that_hold_an_event_the_text_names_a_few") {
  const int count = 20'000;
  scenario s(R"({"type":"hello","agents":)" + numbered("p", count) + "}");
  s.then(R"({"type":"event","event":{"id":"e1","recipients":)" + numbered("p", count) + "}}");
  s.then(R"({"type":"activation_started","activation":"v1","agent":"p0"})");
  std::uint64_t visited = s.graph().counters().visited;
  s.then(R"({"type":"activation_ended","activation":"v1","outputs":[{"id":"s1","submit":true}]})");
  visited = s.graph().counters().visited - visited;
  CHECK(
      s.only().reason.ends_with(R"("e1" (waiting at "p0", "p1", "p2", "p3", "p4", "p5", "p6", "p7" and 19992 more).)"));
  CHECK(visited < 2 * 4'096 + count + 100);  // the holder of most work, the agents that are free
  // The first thousand have consumed it.
  for (int i = 0; i < 1'100; ++i) {
    const std::string n = std::to_string(i);
    s.then(R"({"type":"activation_started","activation":"w)" + n + R"(","agent":"p)" + n + R"(","inputs":["e1"]})");
    s.then(R"({"type":"activation_ended","activation":"w)" + n + R"("})");
  }
  s.then(R"({"type":"activation_started","activation":"v2","agent":"p0"})");
  s.then(R"({"type":"activation_ended","activation":"v2","outputs":[{"id":"s2","submit":true}]})");
  CHECK(s.detections.back().reason.find("\"e1\" (waiting at 18900 agents)") != std::string::npos);
}

TEST_CASE("early_termination_follows_modes_and_reports_causes") { check_causes(early_answer); }

TEST_CASE("a_submit_event_that_is_not_given_back_is_let_through") {
  for (const char* settings : {R"("mode":"observe")", R"("mode":"shadow")", R"("max_attempts":0)"}) {
    const scenario s = play(early_answer, "", settings);
    CHECK(s.run().terminal());
  }
}

TEST_CASE("an_answer_cannot_be_given_back_to_an_author_who_has_left") {
  scenario s(R"(
{"type":"hello","agents":["ada","bob"]}
{"type":"event","event":{"id":"e1","recipients":["bob"]}}
{"type":"activation_started","activation":"v1","agent":"ada"}
{"type":"agent_left","agent":"ada"}
{"type":"activation_ended","activation":"v1","outputs":[{"id":"e9","submit":true}]})");
  CHECK(summary(s.only()) == "early_termination e9 [e1] not healed: target");
  CHECK(s.run().terminal());
}

TEST_CASE("early_termination_counts_attempts_for_the_whole_run") {
  scenario s(R"(
{"type":"hello","agents":["ada","bob"],"rules":{"early_termination":{"max_attempts":2}}}
{"type":"event","event":{"id":"e1","recipients":["bob"]}}
{"type":"activation_started","activation":"v1","agent":"ada"}
{"type":"event","event":{"id":"e7","source":"v1","submit":true}}
{"type":"event","event":{"id":"e8","source":"v1","submit":true}}
{"type":"event","event":{"id":"e9","source":"v1","submit":true}})");
  CHECK(s.detection_summaries() == strings{"early_termination e7 [e1] reroute", "early_termination e8 [e1, e7] reroute",
                                           "early_termination e9 [e1, e7, e8] not healed: attempts"});
  CHECK(s.run().terminal());
}

TEST_CASE("a_configured_text_for_early_termination_may_use_all_its_placeholders") {
  check_text_override(early_answer, "{event}: {count} {are} open: {work}",
                      R"("e4": 1 piece is open: "e3" of agent "planner" (waiting at "tester"))");
}

TEST_CASE("without_the_capability_to_inject_an_answer_is_given_back_without_a_text") {
  const scenario s = play(early_answer, R"("capabilities":{"inject":false})");
  CHECK(s.only().healed);
  CHECK(s.verdict_on("e4").action == action::reroute);
  CHECK(s.verdict_on("e4").inject.empty());
}

TEST_CASE("early_termination_quotes_names_chosen_by_agents_as_data") {
  const std::string ada = json_string(hostile('a')), event = json_string(hostile('e')),
                    answer = json_string(hostile('x'));
  scenario s(R"({"type":"hello"})");
  s.then(R"({"type":"event","event":{"id":)" + event + R"(,"recipients":[)" + ada + "]}}");
  s.then(R"({"type":"activation_started","activation":"v1","agent":"bob"})");
  s.then(R"({"type":"event","event":{"id":)" + answer + R"(,"source":"v1","submit":true}})");
  const std::string named = hostile_quoted('e') + " (waiting at " + hostile_quoted('a') + ")";
  CHECK(s.only().reason == "The answer " + hostile_quoted('x') +
                               " was submitted while 1 event it does not build on is unresolved: " + named + ".");
  CHECK(s.only().evidence == strings{hostile('e')});
  CHECK(s.verdict_on(hostile('x')).inject.find("unresolved: " + named + ". Most of it waits at ") != std::string::npos);
  CHECK(s.verdict_on(hostile('x')).inject.find('\n') == std::string::npos);
}

TEST_CASE("early_termination_shortens_long_lists_in_text_and_evidence") {
  scenario s(R"({"type":"hello","agents":["ada","bob"]})");
  for (int i = 0; i < 1002; ++i) {
    s.then(R"({"type":"event","event":{"id":"e)" + std::to_string(1000 + i) + R"(","recipients":["bob"]}})");
  }
  s.then(R"(
{"type":"activation_started","activation":"v1","agent":"ada"}
{"type":"event","event":{"id":"answer","source":"v1","submit":true}})");
  const detection& d = s.only();
  CHECK(d.evidence_total == 1002);
  REQUIRE(d.evidence.size() == 64);
  CHECK(d.evidence.front() == "e1000");
  CHECK(d.evidence.back() == "e1063");
  CHECK(std::is_sorted(d.evidence.begin(), d.evidence.end()));
  CHECK(d.reason.ends_with(R"("e1007" (waiting at "bob") and 994 more.)"));
  CHECK(s.frames.back().find(R"("evidence_total":1002)") != std::string::npos);
  CHECK(d.witness.truncated);
  CHECK(d.witness.events.size() + d.witness.activations.size() == 64);
  CHECK(d.witness.events.front().id == "answer");
}

TEST_CASE("the_witness_of_early_termination_joins_the_answer_and_the_work_it_leaves_out") {
  const scenario s = play(early_answer);
  const witness& w = s.only().witness;
  CHECK(nodes(w) == "e2 e3 e4 | v1 v2");
  CHECK(edges(w) == strings{"e2 > v2 consume", "e3 .. tester", "v1 > e2", "v1 > e3", "v2 > e4"});
  CHECK(connected(w));
  CHECK_FALSE(w.truncated);
  CHECK(w.events.front().agent == "coder");
}

TEST_CASE("early_termination_is_cleared_when_the_work_is_resolved") {
  scenario s = play(early_answer);
  CHECK(s.outcome_summaries() == strings{});
  s.then(R"(
{"type":"activation_started","activation":"v3","agent":"tester","inputs":["e3"]}
{"type":"activation_ended","activation":"v3","ts":20})");
  CHECK(s.outcome_summaries() == strings{"early_termination e4 cleared at 20"});
}

TEST_CASE("early_termination_is_cleared_when_a_later_answer_is_let_through") {
  scenario s = play(early_answer);
  s.then(R"(
{"type":"activation_started","activation":"v3","agent":"tester","inputs":["e3"]}
{"type":"activation_ended","activation":"v3","reactions":{"e3":"wait"},"outputs":[]}
{"type":"activation_started","activation":"v4","agent":"tester","inputs":["e3"]}
{"type":"event","event":{"id":"e5","source":"v4","recipients":["coder"]}}
{"type":"activation_started","activation":"v5","agent":"coder","inputs":["e4","e5"]}
{"type":"event","event":{"id":"e6","source":"v5","submit":true},"ts":30})");
  CHECK(s.run().terminal());
  CHECK(s.outcome_summaries() == strings{"early_termination e4 cleared at 30"});
}

TEST_CASE("early_termination_recurs_with_the_next_early_answer_and_is_unresolved_when_the_run_ends") {
  scenario s = play(early_answer);
  s.then(R"(
{"type":"activation_started","activation":"v3","agent":"coder","inputs":["e4"]}
{"type":"event","event":{"id":"e5","source":"v3","submit":true},"ts":20})");
  CHECK(s.outcome_summaries() == strings{"early_termination e4 recurred at 20"});
  s.then(R"({"type":"run_ended","outcome":"failure","ts":30})");
  CHECK(s.outcome_summaries() ==
        strings{"early_termination e4 recurred at 20", "early_termination e5 unresolved at 30"});
}

TEST_CASE("two_early_answers_of_one_message_are_two_detections_and_no_recurrence") {
  scenario s(R"(
{"type":"hello","agents":["ada","bob"]}
{"type":"event","event":{"id":"e1","recipients":["bob"]}}
{"type":"activation_started","activation":"v1","agent":"ada"}
{"type":"activation_ended","activation":"v1","outputs":[{"id":"e8","submit":true},{"id":"e9","submit":true}]})");
  CHECK(s.detection_summaries() == strings{"early_termination e8 [e1] reroute", "early_termination e9 [e1] reroute"});
  CHECK(s.outcome_summaries() == strings{});
}
