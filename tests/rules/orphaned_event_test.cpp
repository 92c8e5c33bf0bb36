// Orphaned event (OE): work reaches no agent, either when it is announced or after a window.
#include <catch2/catch.hpp>

#include "tests/rules/firing.h"

using namespace digd;
using namespace digd::tests;
using strings = std::vector<std::string>;

namespace {

const firing to_a_stranger{
    .rule = "orphaned_event",
    .hello = R"("agents":["planner","coder"])",
    .lines = R"(
{"type":"event","event":{"id":"e1","recipients":["planner"]}}
{"type":"activation_started","activation":"v1","agent":"planner","inputs":["e1"]}
)",
    .last =
        R"({"type":"activation_ended","activation":"v1","ts":7,"outputs":[{"id":"e2","recipients":["reviewer"]}]})"};

const firing discarded_by_all{.rule = "orphaned_event",
                              .hello = R"("agents":["planner","coder"])",
                              .options = R"("window_ms":10)",
                              .lines = R"(
{"type":"activation_started","activation":"v1","agent":"planner"}
{"type":"event","event":{"id":"e2","source":"v1","recipients":["coder"]}}
{"type":"activation_started","activation":"v2","agent":"coder","inputs":["e2"]}
{"type":"activation_ended","activation":"v2","reactions":{"e2":"discard"},"ts":100}
)",
                              .last = R"({"type":"time","ts":110})"};

std::vector<std::string> detections_of(const std::string& hello, const std::string& lines) {
  scenario s(R"({"type":"hello",)" + hello + "}");
  return s.then(lines).detection_summaries();
}

}  // namespace

TEST_CASE("an_event_for_nobody_in_the_roster_goes_back_to_its_sender_at_once") {
  const scenario s = play(to_a_stranger);
  const detection& d = s.only();
  CHECK(summary(d) == "orphaned_event e2 [reviewer] reroute");
  CHECK(d.severity == severity::failure);
  CHECK(d.at == 3u);
  CHECK(d.ts == 7);
  CHECK(d.agent == std::nullopt);
  CHECK(d.reason ==
        R"(The event "e2" reaches nobody: it was given to "reviewer", and no agent can consume it any more.)");
  CHECK(s.verdict_on("e2").recipients == strings{"planner"});
  CHECK(s.verdict_on("e2").inject ==
        R"(Your event "e2" reached nobody (it was given to "reviewer"), so it is back with you. Agents that can )"
        R"(receive: "coder", "planner". Send it to one of them or handle it yourself. If it is no longer needed, )"
        R"(consume it.)");
  CHECK(s.interventions.empty());
  CHECK(s.graph().is_pending(s.graph().find_event("e2"), s.graph().find_agent("planner")));
}

TEST_CASE("the_reason_of_an_event_without_recipients_says_that_it_is_addressed_to_nobody") {
  scenario s(R"(
{"type":"hello","agents":["planner"]}
{"type":"activation_started","activation":"v1","agent":"planner"}
{"type":"event","event":{"id":"e2","source":"v1"}})");
  CHECK(summary(s.only()) == "orphaned_event e2 [] reroute");
  CHECK(s.only().reason == R"(The event "e2" is addressed to nobody.)");
  CHECK(s.verdict_on("e2").inject.starts_with(
      R"(Your event "e2" reached nobody (it was given to nobody), so it is back with you.)"));
}

TEST_CASE("a_reroute_to_no_agent_is_reported_though_others_still_hold_the_event") {
  const strings detections = detections_of(R"("agents":["ada","bob","cy"])", R"(
{"type":"activation_started","activation":"v1","agent":"cy"}
{"type":"event","event":{"id":"e1","source":"v1","recipients":["ada","bob"]}}
{"type":"activation_started","activation":"v2","agent":"ada","inputs":["e1"]}
{"type":"activation_ended","activation":"v2","reactions":{"e1":{"reroute":[]}}})");
  CHECK(detections == strings{"orphaned_event e1 [] reroute"});
}

TEST_CASE("an_event_that_all_recipients_discarded_is_an_orphan_when_the_window_ends") {
  const scenario s = play(discarded_by_all);
  const detection& d = s.only();
  CHECK(summary(d) == "orphaned_event e2 [coder] reroute");
  CHECK(d.at == std::nullopt);
  CHECK(d.session == std::nullopt);
  CHECK(d.ts == 110);
  REQUIRE(s.interventions.size() == 1);
  CHECK(s.interventions[0].id == "give:e2:1");
  CHECK(s.interventions[0].action == action::reroute);
  CHECK(s.interventions[0].event == "e2");
  CHECK(s.interventions[0].recipients == strings{"planner"});
  CHECK(s.interventions[0].inject.starts_with(
      R"(Your event "e2" reached nobody (it was given to "coder"), so it is back)"));
}

TEST_CASE("near_misses_among_announced_events_are_ignored") {
  const std::string roster = R"("agents":["ada","bob"])";
  const std::string begin = R"({"type":"activation_started","activation":"v1","agent":"ada"})"
                            "\n";
  // One recipient in the roster is enough.
  CHECK(detections_of(roster, begin + R"({"type":"event","event":{"id":"e1","source":"v1",)"
                                      R"("recipients":["zed","bob"]}})") == strings{});
  // An fyi event, and a submit event.
  CHECK(detections_of(roster, begin + R"({"type":"event","event":{"id":"e1","source":"v1","fyi":true}})") == strings{});
  CHECK(detections_of(roster, begin + R"({"type":"event","event":{"id":"e1","source":"v1","submit":true}})") ==
        strings{});
  // A recipient joins an open roster when it is named.
  CHECK(detections_of(R"("labels":{})",
                      begin + R"({"type":"event","event":{"id":"e1","source":"v1","recipients":["zed"]}})") ==
        strings{});
  // An agent that starts an activation has joined.
  CHECK(detections_of(roster, begin + R"({"type":"activation_started","activation":"v2","agent":"zed"}
{"type":"event","event":{"id":"e1","source":"v1","recipients":["zed"]}})") == strings{});
  // A late event is not judged.
  CHECK(detections_of(roster, R"({"type":"activation_started","activation":"v1","agent":"ada","inputs":["e1"]}
{"type":"event","event":{"id":"e1","recipients":["zed"]}})") == strings{});
}

TEST_CASE("near_misses_in_a_window_are_ignored") {
  const auto detections_after = [](const std::string& lines) {
    return detections_of(R"("agents":["ada","bob","cy"],"rules":{"orphaned_event":{"window_ms":10}})",
                         R"({"type":"activation_started","activation":"v1","agent":"cy"}
{"type":"event","event":{"id":"e1","source":"v1","recipients":["ada","bob"]}}
{"type":"activation_started","activation":"v2","agent":"ada","inputs":["e1"]})" +
                             lines);
  };
  // One millisecond is missing.
  CHECK(detections_after(R"(
{"type":"agent_left","agent":"bob"}
{"type":"activation_ended","activation":"v2","reactions":{"e1":"discard"},"ts":5}
{"type":"time","ts":14})") == strings{});
  // Bob still holds it, ada works on it, ada has consumed it, or a gap hides its state.
  CHECK(detections_after(R"(
{"type":"activation_ended","activation":"v2","reactions":{"e1":"discard"},"ts":5}
{"type":"time","ts":100})") == strings{});
  CHECK(detections_after(R"(
{"type":"agent_left","agent":"bob"}
{"type":"time","ts":100})") == strings{});
  CHECK(detections_after(R"(
{"type":"activation_ended","activation":"v2","ts":5}
{"type":"agent_left","agent":"bob"}
{"type":"time","ts":100})") == strings{});
  CHECK(detections_after(R"(
{"type":"activation_ended","activation":"v2","reactions":{"e1":"discard"},"ts":5}
{"type":"gap","dropped":1}
{"type":"time","ts":100})") == strings{});
  // An activation takes it in time, so the window starts again.
  CHECK(detections_after(R"(
{"type":"agent_left","agent":"bob"}
{"type":"activation_ended","activation":"v2","reactions":{"e1":"discard"},"ts":5}
{"type":"activation_started","activation":"v3","agent":"ada","inputs":["e1"],"ts":14}
{"type":"activation_ended","activation":"v3","reactions":{"e1":"discard"},"ts":15}
{"type":"time","ts":24})") == strings{});
}

TEST_CASE("the_evidence_names_every_agent_that_ever_received_the_event_even_if_it_was_lost") {
  const strings detections = detections_of(R"("agents":["ada","bob"],"rules":{"orphaned_event":{"window_ms":10}})", R"(
{"type":"activation_started","activation":"v1","agent":"ada"}
{"type":"event","event":{"id":"e1","source":"v1","recipients":["bob","zed"]}}
{"type":"agent_left","agent":"bob"}
{"type":"time","ts":10})");
  CHECK(detections == strings{"orphaned_event e1 [bob, zed] reroute"});
}

TEST_CASE("orphaned_event_follows_modes_and_reports_causes") {
  check_causes(to_a_stranger);
  check_causes(discarded_by_all);
}

TEST_CASE("root_events_placeholders_and_events_of_a_departed_sender_cannot_be_given_back") {
  const std::string roster = R"("agents":["ada","bob"],"rules":{"orphaned_event":{"window_ms":10}})";
  CHECK(detections_of(roster, R"({"type":"event","event":{"id":"e1","recipients":["zed"]}}
{"type":"time","ts":100})") == strings{"orphaned_event e1 [zed] not healed: target"});
  CHECK(detections_of(roster, R"(
{"type":"activation_started","activation":"v1","agent":"ada"}
{"type":"activation_started","activation":"v2","agent":"bob","inputs":["e1"]}
{"type":"activation_ended","activation":"v2","reactions":{"e1":"discard"}}
{"type":"time","ts":10})") == strings{"orphaned_event e1 [bob] not healed: target"});
  CHECK(detections_of(roster, R"(
{"type":"activation_started","activation":"v1","agent":"ada"}
{"type":"agent_left","agent":"ada"}
{"type":"event","event":{"id":"e1","source":"v1","recipients":["zed"]}})") ==
        strings{"orphaned_event e1 [zed] not healed: target"});
}

TEST_CASE("orphaned_event_counts_attempts_for_each_event") {
  scenario s(R"({"type":"hello","agents":["ada"],"rules":{"orphaned_event":{"max_attempts":2}}})");
  s.then(R"(
{"type":"activation_started","activation":"v0","agent":"ada"}
{"type":"event","event":{"id":"e1","source":"v0","recipients":["zed"]}}
{"type":"activation_started","activation":"v1","agent":"ada","inputs":["e1"]}
{"type":"activation_ended","activation":"v1","reactions":{"e1":{"reroute":["zed"]}}}
{"type":"activation_started","activation":"v2","agent":"ada","inputs":["e1"]}
{"type":"activation_ended","activation":"v2","reactions":{"e1":{"reroute":["zed"]}}}
{"type":"event","event":{"id":"e2","source":"v0","recipients":["zed"]}})");
  CHECK(s.detection_summaries() == strings{"orphaned_event e1 [zed] reroute", "orphaned_event e1 [zed] reroute",
                                           "orphaned_event e1 [zed] not healed: attempts",
                                           "orphaned_event e2 [zed] reroute"});
}

TEST_CASE("an_orphan_without_a_target_is_reported_once_and_settles") {
  const strings detections = detections_of(R"("agents":["ada","bob"],"rules":{"orphaned_event":{"window_ms":10}})", R"(
{"type":"activation_started","activation":"v1","agent":"ada"}
{"type":"event","event":{"id":"e1","recipients":["zed"]}}
{"type":"time","ts":1000}
{"type":"activation_started","activation":"v2","agent":"bob","inputs":["e0"]}
{"type":"activation_ended","activation":"v2","reactions":{"e0":{"reroute":["zed"]}}}
{"type":"time","ts":2000}
{"type":"activation_started","activation":"v3","agent":"bob","inputs":["e0"]}
{"type":"activation_ended","activation":"v3","reactions":{"e0":"discard"}}
{"type":"time","ts":3000})");
  // e0 and e1 settle with the message whose answer reports them, so no later message can report them again.
  CHECK(detections ==
        strings{"orphaned_event e1 [zed] not healed: target", "orphaned_event e0 [zed] not healed: target"});
}

TEST_CASE("a_configured_text_for_orphaned_event_may_use_all_its_placeholders") {
  check_text_override(to_a_stranger, "{event} for {agents}; there are {roster}",
                      R"("e2" for "reviewer"; there are "coder", "planner")");
  check_text_override(discarded_by_all, "{event} for {agents}", R"("e2" for "coder")");
}

TEST_CASE("orphaned_event_quotes_names_chosen_by_agents_as_data") {
  scenario s(R"({"type":"hello","agents":["ada",)" + json_string(hostile('r')) + "]}");
  s.then(R"({"type":"activation_started","activation":"v1","agent":"ada"})");
  s.then(R"({"type":"event","event":{"source":"v1","id":)" + json_string(hostile('e')) + R"(,"recipients":[)" +
         json_string(hostile('z')) + "]}}");
  CHECK(s.only().reason == "The event " + hostile_quoted('e') + " reaches nobody: it was given to " +
                               hostile_quoted('z') + ", and no agent can consume it any more.");
  CHECK(s.verdict_on(hostile('e')).inject.find("can receive: \"ada\", " + hostile_quoted('r') + ". Send") !=
        std::string::npos);
  CHECK(s.verdict_on(hostile('e')).inject.find('\n') == std::string::npos);
}

TEST_CASE("orphaned_event_shortens_long_lists_in_text_and_evidence") {
  scenario s(R"(
{"type":"hello","agents":["ada"]}
{"type":"activation_started","activation":"v1","agent":"ada"})");
  s.then(R"({"type":"event","event":{"id":"e1","source":"v1","recipients":)" + numbered("z", 1002) + "}}");
  const detection& d = s.only();
  CHECK(d.evidence_total == 1002);
  REQUIRE(d.evidence.size() == 64);
  CHECK(d.evidence[0] == "z0");
  CHECK(d.evidence[1] == "z1");
  CHECK(d.evidence[2] == "z10");
  CHECK(std::is_sorted(d.evidence.begin(), d.evidence.end()));
  CHECK(d.reason.find(R"("z1003)") == std::string::npos);
  CHECK(d.reason.ends_with(R"( and 994 more, and no agent can consume it any more.)"));
}

TEST_CASE("the_witness_of_an_orphan_shows_the_event_its_source_and_who_had_it") {
  const scenario s = play(discarded_by_all);
  CHECK(nodes(s.only().witness) == "e2 | v1 v2");
  CHECK(edges(s.only().witness) == strings{"e2 > v2 discard", "v1 > e2"});
  CHECK(nodes(play(to_a_stranger).only().witness) == "e2 | v1");
}

TEST_CASE("the_witness_of_an_event_that_many_activations_had_is_truncated") {
  scenario s(R"(
{"type":"hello","rules":{"orphaned_event":{"window_ms":10}}}
{"type":"activation_started","activation":"v","agent":"ada"}
{"type":"event","event":{"id":"e1","source":"v","recipients":["bob"]}})");
  for (int i = 0; i < 80; ++i) {
    const std::string v = "w" + std::to_string(i);
    s.then(R"({"type":"activation_started","agent":"bob","inputs":["e1"],"activation":")" + v + R"("})");
    s.then(R"({"type":"activation_ended","reactions":{"e1":")" + std::string(i == 79 ? "discard" : "wait") +
           R"("},"activation":")" + v + R"("})");
  }
  s.then(R"({"type":"time","ts":10})");
  CHECK(s.only().witness.activations.size() + s.only().witness.events.size() == 64);
  CHECK(s.only().witness.truncated);
}

TEST_CASE("an_orphan_is_cleared_when_it_is_consumed_recurs_when_it_is_lost_again_and_is_unresolved_otherwise") {
  scenario s = play(to_a_stranger);
  s.then(R"(
{"type":"activation_started","activation":"v2","agent":"planner","inputs":["e2"]}
{"type":"activation_ended","activation":"v2","reactions":{"e2":{"reroute":["tester"]}},"ts":20})");
  CHECK(s.outcome_summaries() == strings{"orphaned_event e2 recurred at 20"});
  s.then(R"(
{"type":"activation_started","activation":"v3","agent":"planner","inputs":["e2"]}
{"type":"activation_ended","activation":"v3","reactions":{"e2":{"reroute":["coder"]}},"ts":30}
{"type":"activation_started","activation":"v4","agent":"coder","inputs":["e2"]}
{"type":"activation_ended","activation":"v4","ts":40})");
  CHECK(s.outcome_summaries().back() == "orphaned_event e2 cleared at 40");
  CHECK(s.outcomes.size() == 2);

  scenario other = play(to_a_stranger);
  other.then(R"({"type":"run_ended","outcome":"success","ts":50})");
  CHECK(other.outcome_summaries() == strings{"orphaned_event e2 unresolved at 50"});
}

TEST_CASE("the_outcome_of_a_healing_is_reported_even_if_the_run_forgets_the_event_with_that_message") {
  scenario s = play(to_a_stranger, R"("limits":{"settled_events":0})");
  s.then(R"(
{"type":"activation_started","activation":"v2","agent":"planner","inputs":["e2"]}
{"type":"activation_ended","activation":"v2","ts":20})");
  CHECK_FALSE(s.knows("e2"));
  CHECK(s.outcome_summaries() == strings{"orphaned_event e2 cleared at 20"});
}
