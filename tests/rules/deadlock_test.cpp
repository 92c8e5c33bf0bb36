// Deadlock (DL): work waits, and nobody is active for the length of the window.
#include <catch2/catch.hpp>

#include "tests/rules/firing.h"

using namespace digd;
using namespace digd::tests;
using strings = std::vector<std::string>;

namespace {

const firing waiting_work{.rule = "deadlock",
                          .hello = R"("agents":["coder","tester","planner"])",
                          .lines = R"(
{"type":"activation_started","activation":"v1","agent":"planner","ts":50}
{"type":"event","event":{"id":"e1","source":"v1","recipients":["coder"]}}
{"type":"event","event":{"id":"e2","source":"v1","recipients":["tester"]}}
{"type":"activation_ended","activation":"v1","ts":100}
)",
                          .last = R"({"type":"time","ts":10100})"};

}  // namespace

TEST_CASE("when_work_waits_for_the_window_and_nobody_is_active_the_whole_roster_gets_a_system_event") {
  const scenario s = play(waiting_work);
  const detection& d = s.only();
  CHECK(summary(d) == "deadlock [e1, e2] create");
  CHECK(d.severity == severity::failure);
  CHECK(d.at == std::nullopt);
  CHECK(d.session == std::nullopt);
  CHECK(d.event == std::nullopt);
  CHECK(d.agent == std::nullopt);
  CHECK(d.ts == 10100);
  CHECK(d.reason ==
        R"(Nobody is active while 2 events wait: "e1" of agent "planner" (waiting at "coder"), "e2" of agent )"
        R"("planner" (waiting at "tester").)");
  REQUIRE(s.interventions.size() == 1);
  CHECK(s.interventions[0].id == "sys:1");
  CHECK(s.interventions[0].action == action::create);
  CHECK(s.interventions[0].event == std::nullopt);
  CHECK(s.interventions[0].recipients == strings{"coder", "planner", "tester"});
  CHECK(s.interventions[0].inject ==
        R"(Nobody is working, but 2 events are unresolved: "e1" of agent "planner" (waiting at "coder"), "e2" of )"
        R"(agent "planner" (waiting at "tester"). Every agent seems to wait for another. If one of these events is )"
        R"(with you, act on it now with what you have: handle it, or pass it to whoever can.)");
  CHECK(s.reachable() == strings{"e1", "e2"});  // a system event is not work
  CHECK(s.graph().is_pending(s.graph().find_event("sys:1"), s.graph().find_agent("planner")));
}

TEST_CASE("a_single_waiting_event_is_written_in_the_singular") {
  scenario s(R"(
{"type":"hello","agents":["ada"]}
{"type":"event","event":{"id":"e1","recipients":["ada"]}}
{"type":"time","ts":10000})");
  CHECK(s.only().reason == R"(Nobody is active while 1 event waits: "e1" (waiting at "ada").)");
  CHECK(injected(s).starts_with(R"(Nobody is working, but 1 event is unresolved: "e1" (waiting at "ada"). Every)"));
}

TEST_CASE("deadlock_ignores_near_misses") {
  const auto detections_after = [](const std::string& lines) {
    scenario s(R"({"type":"hello","agents":["ada","bob"],"rules":{"missing_termination":{"mode":"off"}}}
{"type":"event","event":{"id":"e1","recipients":["ada"]}})");
    return s.then(lines).detection_summaries();
  };
  CHECK(detections_after(R"({"type":"time","ts":9999})") == strings{});
  CHECK(detections_after(R"({"type":"time","ts":10000})") == strings{"deadlock [e1] create"});
  // An agent is active, though on something else.
  CHECK(detections_after(R"({"type":"activation_started","activation":"v1","agent":"bob"}
{"type":"time","ts":20000})") == strings{});
  // After a moment of activity the window starts again.
  CHECK(detections_after(R"({"type":"activation_started","activation":"v1","agent":"bob","ts":9000}
{"type":"activation_ended","activation":"v1","ts":9001}
{"type":"time","ts":19000})") == strings{});
  // The last work is consumed, its holder leaves, or a gap hides it.
  CHECK(detections_after(R"({"type":"activation_started","activation":"v1","agent":"ada","inputs":["e1"]}
{"type":"activation_ended","activation":"v1"}
{"type":"time","ts":20000})") == strings{});
  CHECK(detections_after(R"({"type":"agent_left","agent":"ada"}
{"type":"time","ts":4000})") == strings{});
  CHECK(detections_after(R"({"type":"gap","dropped":3}
{"type":"time","ts":20000})") == strings{});
  // The run is terminal, or has ended.
  CHECK(detections_after(R"({"type":"activation_started","activation":"v1","agent":"ada","inputs":["e1"]}
{"type":"activation_ended","activation":"v1","reactions":{"e1":"wait"}}
{"type":"activation_started","activation":"v2","agent":"ada","inputs":["e1"]}
{"type":"event","event":{"id":"e2","source":"v2","submit":true}}
{"type":"activation_ended","activation":"v2","reactions":{"e1":"wait"}}
{"type":"time","ts":20000})") == strings{});
  CHECK(detections_after(R"({"type":"run_ended","outcome":"aborted"})") == strings{});
}

TEST_CASE("fyi_submit_and_system_events_do_not_deadlock") {
  scenario s(R"(
{"type":"hello","agents":["ada"],"rules":{"missing_termination":{"window_ms":5}}}
{"type":"event","event":{"id":"e1","recipients":["ada"],"fyi":true}}
{"type":"activation_started","activation":"v1","agent":"ada"}
{"type":"activation_ended","activation":"v1"}
{"type":"time","ts":5}
{"type":"time","ts":50})");
  for (const std::string& line : s.detection_summaries()) CHECK(line.starts_with("missing_termination"));
  CHECK(s.detections.size() == 4);  // three healings, then one detection without
}

TEST_CASE("deadlock_keeps_its_configured_window_and_fires_again_after_a_healing") {
  scenario s(R"(
{"type":"hello","agents":["ada"],"rules":{"deadlock":{"window_ms":10,"max_attempts":2}}}
{"type":"event","event":{"id":"e1","recipients":["ada"]}}
{"type":"time","ts":1000})");
  CHECK(s.detection_summaries() ==
        strings{"deadlock [e1] create", "deadlock [e1] create", "deadlock [e1] not healed: attempts"});
  CHECK(s.detections[0].ts == 10);
  CHECK(s.detections[1].ts == 20);
  CHECK(s.detections[2].ts == 30);
  CHECK(s.interventions[1].id == "sys:2");
  CHECK(s.outcome_summaries() == strings{"deadlock sys:1 recurred at 20", "deadlock sys:2 recurred at 30"});
}

TEST_CASE("a_stalled_activation_does_not_prevent_a_deadlock_and_the_window_starts_with_the_stall") {
  scenario s(R"(
{"type":"hello","agents":["ada","bob"],"limits":{"stalled_ms":100},"rules":{"deadlock":{"window_ms":10}}}
{"type":"event","event":{"id":"e1","recipients":["ada"]}}
{"type":"activation_started","activation":"v1","agent":"bob"}
{"type":"time","ts":109})");
  CHECK(s.detection_summaries() == strings{});
  s.then(R"({"type":"time","ts":110})");
  CHECK(s.detection_summaries() == strings{"deadlock [e1] create"});
}

TEST_CASE("deadlock_follows_modes_and_reports_causes") { check_causes(waiting_work); }

TEST_CASE("an_empty_roster_leaves_no_agent_for_a_system_event") {
  // Work is pending only at agents in the roster. An empty roster leaves no work, so `target` cannot occur here.
  scenario s(R"(
{"type":"hello","agents":[]}
{"type":"event","event":{"id":"e1","recipients":["ada"]}}
{"type":"time","ts":20000})");
  CHECK(s.detection_summaries() == strings{"orphaned_event e1 [ada] not healed: target"});
}

TEST_CASE("a_configured_text_for_deadlock_may_use_all_its_placeholders") {
  check_text_override(
      waiting_work, "{count}: {work}",
      R"(2 events are unresolved: "e1" of agent "planner" (waiting at "coder"), "e2" of agent "planner" )"
      R"((waiting at "tester"))");
}

TEST_CASE("deadlock_quotes_names_chosen_by_agents_as_data") {
  scenario s(R"({"type":"hello"})");
  s.then(R"({"type":"event","event":{"id":)" + json_string(hostile('e')) + R"(,"recipients":[)" +
         json_string(hostile('a')) + "]}}");
  s.then(R"({"type":"time","ts":10000})");
  CHECK(s.only().reason ==
        "Nobody is active while 1 event waits: " + hostile_quoted('e') + " (waiting at " + hostile_quoted('a') + ").");
  CHECK(injected(s).find(hostile_quoted('e') + " (waiting at " + hostile_quoted('a') + "). Every") !=
        std::string::npos);
  CHECK(s.interventions.at(0).recipients == strings{hostile('a')});
}

TEST_CASE("deadlock_shortens_long_lists_in_text_and_evidence") {
  scenario s(R"({"type":"hello","agents":["ada"]})");
  for (int i = 1001; i >= 0; --i) {
    s.then(R"({"type":"event","event":{"recipients":["ada"],"id":"e)" + std::to_string(1000 + i) + R"("}})");
  }
  s.then(R"({"type":"time","ts":10000})");
  const detection& d = s.only();
  CHECK(d.evidence_total == 1002);
  REQUIRE(d.evidence.size() == 64);
  CHECK(d.evidence.front() == "e1000");
  CHECK(d.evidence.back() == "e1063");
  CHECK(d.reason.starts_with(R"(Nobody is active while 1002 events wait: "e1000" (waiting at "ada"), "e1001")"));
  CHECK(d.reason.ends_with(R"("e1007" (waiting at "ada") and 994 more.)"));
  CHECK(d.witness.truncated);
  CHECK(d.witness.events.size() + d.witness.activations.size() == 64);
}

TEST_CASE("of_many_agents_at_which_an_event_waits_the_reason_names_eight") {
  scenario s(R"({"type":"hello"})");
  s.then(R"({"type":"event","event":{"id":"e1","recipients":)" + numbered("a", 10) + "}}")
      .then(R"({"type":"time","ts":10000})");
  CHECK(s.only().reason ==
        R"(Nobody is active while 1 event waits: "e1" (waiting at "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7" )"
        R"(and 2 more).)");
}

TEST_CASE("the_witness_of_a_deadlock_shows_the_waiting_events_their_holders_and_their_source") {
  const scenario s = play(waiting_work);
  const witness& w = s.only().witness;
  CHECK(nodes(w) == "e1 e2 | v1");
  CHECK(edges(w) == strings{"e1 .. coder", "e2 .. tester", "v1 > e1", "v1 > e2"});
  CHECK(connected(w));
}

TEST_CASE("a_deadlock_is_cleared_when_some_work_is_no_longer_pending_and_unresolved_when_the_run_ends_first") {
  scenario s = play(waiting_work);
  s.then(R"(
{"type":"activation_started","activation":"v2","agent":"tester","inputs":["sys:1","e2"],"ts":10200}
{"type":"activation_ended","activation":"v2","ts":10300})");
  CHECK(s.outcome_summaries() == strings{"deadlock sys:1 cleared at 10300"});

  scenario other = play(waiting_work);
  other.then(R"({"type":"run_ended","outcome":"aborted","ts":10200})");
  CHECK(other.outcome_summaries() == strings{"deadlock sys:1 unresolved at 10200"});
}
