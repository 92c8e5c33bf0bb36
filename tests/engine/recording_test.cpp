// How messages change the graph: placeholders, late events, rosters, give-backs and delivery reports.
#include <catch2/catch.hpp>

#include "tests/engine/scenario.h"

using namespace digd;
using namespace digd::tests;
using strings = std::vector<std::string>;

namespace {

const graph::event_node& event(const scenario& s, const char* id) { return s.graph().event(s.graph().find_event(id)); }

std::string delivery_state(const scenario& s, const char* id, const char* agent) {
  const graph::delivery* d = s.graph().find_delivery(s.graph().find_event(id), s.graph().find_agent(agent));
  return d == nullptr ? "never" : std::string(to_string(d->state));
}

}  // namespace

TEST_CASE("an_unknown_input_becomes_a_placeholder_that_is_pending_work_of_that_agent") {
  scenario s(R"(
{"type":"hello","agents":["ada","bob"]}
{"type":"activation_started","activation":"v1","agent":"ada","inputs":["e1"]})");
  CHECK(s.reachable() == strings{"e1"});
  CHECK(event(s, "e1").placeholder);
  CHECK(s.verdicts.empty());
}

TEST_CASE("a_late_event_fills_in_its_placeholder_and_is_delivered_to_the_recipients_that_never_had_it") {
  scenario s(R"(
{"type":"hello","agents":["ada","bob","cy"]}
{"type":"activation_started","activation":"v1","agent":"ada","inputs":["e1"]}
{"type":"activation_ended","activation":"v1","reactions":{"e1":"discard"}}
{"type":"activation_started","activation":"v2","agent":"cy"}
{"type":"event","event":{"id":"e1","source":"v2","recipients":["ada","bob","zed"],"kind":"task"}})");
  CHECK(s.detection_summaries() == strings{});
  CHECK(s.verdict_on("e1").action == action::deliver);
  CHECK(delivery_state(s, "e1", "ada") == "discarded");
  CHECK(delivery_state(s, "e1", "bob") == "pending");
  CHECK(delivery_state(s, "e1", "zed") == "lost");
  REQUIRE(event(s, "e1").kind != nullptr);
  CHECK(*event(s, "e1").kind == "task");
  CHECK(s.graph().activation(event(s, "e1").source).id == "v2");
  // A placeholder is filled in only once.
  s.then(R"({"type":"event","event":{"id":"e1","recipients":["ada"]}})");
  CHECK(s.errors.back().code == "duplicate_event");
}

TEST_CASE("a_late_event_is_derived_from_no_input") {
  scenario s(R"(
{"type":"hello","agents":["ada","bob"]}
{"type":"event","event":{"id":"e1","recipients":["bob"]}}
{"type":"activation_started","activation":"v1","agent":"bob","inputs":["e1"]}
{"type":"activation_started","activation":"v2","agent":"ada","inputs":["late"]}
{"type":"event","event":{"id":"late","source":"v1","recipients":["ada"]}}
{"type":"activation_ended","activation":"v2","outputs":[{"id":"e9","submit":true}]})");
  CHECK(s.detection_summaries() == strings{"early_termination e9 [e1] reroute"});
}

TEST_CASE("a_late_submit_event_is_let_through_at_once") {
  scenario s(R"(
{"type":"hello","agents":["ada","bob"]}
{"type":"event","event":{"id":"e1","recipients":["bob"]}}
{"type":"activation_started","activation":"v1","agent":"ada","inputs":["e9"]}
{"type":"event","event":{"id":"e9","source":"v1","submit":true}})");
  CHECK(s.run().terminal());
  CHECK(s.detection_summaries() == strings{});
}

TEST_CASE("a_late_fyi_event_is_no_longer_work") {
  scenario s(R"(
{"type":"hello","agents":["ada"]}
{"type":"activation_started","activation":"v1","agent":"ada","inputs":["e1"]}
{"type":"event","event":{"id":"e1","fyi":true}})");
  CHECK(s.reachable() == strings{});
}

TEST_CASE("a_late_event_that_has_settled_does_not_change") {
  scenario s(R"(
{"type":"hello","agents":["ada","bob"]}
{"type":"activation_started","activation":"v1","agent":"ada","inputs":["e1"]}
{"type":"activation_ended","activation":"v1"}
{"type":"event","event":{"id":"e1","recipients":["bob"]}})");
  CHECK(event(s, "e1").settled);
  CHECK(s.reachable() == strings{});
  CHECK(delivery_state(s, "e1", "bob") == "never");
}

TEST_CASE("a_settled_event_is_an_ordinary_input_and_never_pending_again") {
  scenario s(R"(
{"type":"hello","agents":["ada","bob"]}
{"type":"event","event":{"id":"e1","recipients":["ada"]}}
{"type":"activation_started","activation":"v1","agent":"ada","inputs":["e1"]}
{"type":"activation_ended","activation":"v1"}
{"type":"activation_started","activation":"v2","agent":"bob","inputs":["e1"]})");
  CHECK(s.reachable() == strings{});
  CHECK(delivery_state(s, "e1", "bob") == "never");
  CHECK(s.graph().activation(s.graph().find_activation("v2")).inputs.size() == 1);
}

TEST_CASE("an_open_roster_takes_every_named_agent_and_a_closed_one_only_those_that_join_or_act") {
  scenario open(R"(
{"type":"hello"}
{"type":"event","event":{"id":"e1","recipients":["ada"]}}
{"type":"activation_started","activation":"v1","agent":"ada","inputs":["e1"]}
{"type":"activation_ended","activation":"v1","reactions":{"e1":{"reroute":["bob"]}}})");
  CHECK(open.graph().roster_size() == 2);
  CHECK(open.reachable() == strings{"e1"});

  scenario closed(R"(
{"type":"hello","agents":[]}
{"type":"event","event":{"id":"e1","recipients":["ada"]}}
{"type":"activation_started","activation":"v1","agent":"bob"}
{"type":"agent_joined","agent":"cy"})");
  CHECK(closed.graph().roster_size() == 2);
  CHECK(delivery_state(closed, "e1", "ada") == "lost");
}

TEST_CASE("agents_of_a_further_session_join_an_open_roster_and_leave_it_open") {
  scenario s(R"(
{"type":"hello","session":"a"}
{"type":"hello","session":"b","agents":["bob"]}
{"type":"event","session":"b","event":{"id":"e1","recipients":["cy"]}})");
  CHECK(s.problem == "");
  CHECK(s.graph().roster_size() == 2);
}

TEST_CASE("an_agent_that_leaves_loses_its_pending_events_and_starts_with_none_when_it_returns") {
  scenario s(R"(
{"type":"hello","agents":["ada","bob"],"mode":"off"}
{"type":"event","event":{"id":"e1","recipients":["ada","bob"]}}
{"type":"agent_left","agent":"ada"}
{"type":"agent_left","agent":"nobody"}
{"type":"agent_joined","agent":"ada"})");
  CHECK(delivery_state(s, "e1", "ada") == "lost");
  CHECK(s.reachable() == strings{"e1"});
  s.then(R"({"type":"event","event":{"id":"e2","recipients":["ada"]}})");
  CHECK(delivery_state(s, "e2", "ada") == "pending");
}

TEST_CASE("a_failed_activation_leaves_its_inputs_pending") {
  scenario s(R"(
{"type":"hello","agents":["ada"]}
{"type":"event","event":{"id":"e1","recipients":["ada"]}}
{"type":"activation_started","activation":"v1","agent":"ada","inputs":["e1"]}
{"type":"activation_ended","activation":"v1","failed":true,"error":"timeout"})");
  CHECK(s.reachable() == strings{"e1"});
  CHECK_FALSE(event(s, "e1").consumed);
}

TEST_CASE("all_reroutes_of_an_activation_are_recorded_before_any_is_judged") {
  // dee reroutes both events to cy; digd judges each against the graph that has both reroutes.
  scenario s(R"(
{"type":"hello","agents":["ada","bob","cy","dee"]}
{"type":"activation_started","activation":"g1","agent":"cy"}
{"type":"event","event":{"id":"e1","source":"g1","recipients":["ada"]}}
{"type":"activation_started","activation":"g2","agent":"cy"}
{"type":"event","event":{"id":"e2","source":"g2","recipients":["bob"]}}
{"type":"activation_started","activation":"v1","agent":"dee","inputs":["e1","e2"]}
{"type":"activation_ended","activation":"v1","reactions":{"e1":{"reroute":["cy"]},"e2":{"reroute":["cy"]}}})");
  CHECK(s.detection_summaries() ==
        strings{"cross_lineage_aggregation e1 @cy [e2] inject", "cross_lineage_aggregation e2 @cy [e1] inject"});
  CHECK(s.verdicts.size() == 4);
  CHECK(s.verdicts[2].event == "e1");
  CHECK(s.verdicts[3].event == "e2");
}

TEST_CASE("an_answer_delivered_against_its_verdict_counts_as_let_through") {
  const std::string early = R"(
{"type":"hello","agents":["ada","bob"]}
{"type":"event","event":{"id":"e1","recipients":["bob"]}}
{"type":"activation_started","activation":"v1","agent":"ada"}
{"type":"event","event":{"id":"e9","source":"v1","recipients":["bob"],"submit":true}}
)";
  for (const char* applied : {"injected", "rerouted", "created", "unsupported", "failed"}) {
    scenario s(early + R"({"type":"delivery","event":"e9","applied":")" + applied + "\"}");
    CHECK_FALSE(s.run().terminal());
    CHECK(delivery_state(s, "e9", "ada") == "pending");
  }
  scenario s(early);
  CHECK(delivery_state(s, "e9", "bob") == "withdrawn");
  s.then(R"({"type":"delivery","event":"e9","applied":"as_is","reason":"timeout"})");
  CHECK(s.run().terminal());
  CHECK(delivery_state(s, "e9", "ada") == "withdrawn");
  CHECK(s.outcome_summaries() == strings{});  // the work still waits, and the rule fired on this answer
}

TEST_CASE("a_give_back_that_was_not_applied_is_withdrawn_but_not_a_delivery_by_the_client") {
  scenario s(R"(
{"type":"hello","agents":["ada","bob"],"rules":{"orphaned_event":{"window_ms":10}}}
{"type":"activation_started","activation":"v1","agent":"ada"}
{"type":"event","event":{"id":"e1","source":"v1","recipients":["zed"]}}
{"type":"event","event":{"id":"e2","source":"v1","recipients":["ada"]}})");
  CHECK(delivery_state(s, "e1", "ada") == "pending");
  s.then(R"({"type":"delivery","event":"e1","applied":"as_is"})"
         "\n"
         R"({"type":"delivery","event":"e2","applied":"as_is"})");
  CHECK(delivery_state(s, "e1", "ada") == "withdrawn");
  CHECK(delivery_state(s, "e2", "ada") == "pending");
  // No agent holds it now. When the window ends, digd gives it back again.
  s.then(R"({"type":"time","ts":10})");
  CHECK(s.detection_summaries().back() == "orphaned_event e1 [ada, zed] reroute");
  CHECK(s.interventions.back().id == "give:e1:1");
  s.then(R"({"type":"delivery","of":"give:e1:1","applied":"as_is"})");
  CHECK(delivery_state(s, "e1", "ada") == "withdrawn");
  s.then(R"({"type":"time","ts":20})");
  CHECK(s.interventions.back().id == "give:e1:2");
}

TEST_CASE("a_give_back_that_was_consumed_cannot_be_withdrawn") {
  scenario s(R"(
{"type":"hello","agents":["ada"]}
{"type":"activation_started","activation":"v1","agent":"ada"}
{"type":"event","event":{"id":"e1","source":"v1","recipients":["zed"]}}
{"type":"activation_started","activation":"v2","agent":"ada","inputs":["e1"]}
{"type":"activation_ended","activation":"v2"}
{"type":"delivery","event":"e1","applied":"as_is"})");
  CHECK(delivery_state(s, "e1", "ada") == "consumed");
}

TEST_CASE("an_event_delivered_as_is_is_judged_but_not_healed") {
  scenario s(R"(
{"type":"hello","agents":["ada","bob"]}
{"type":"event","event":{"id":"e1","recipients":["bob"]}}
{"type":"activation_started","activation":"v1","agent":"ada"}
{"type":"event","as_is":true,"event":{"id":"e9","source":"v1","submit":true}})");
  CHECK(s.detection_summaries() == strings{"early_termination e9 [e1] not healed: as_is"});
  CHECK(s.run().terminal());
}

TEST_CASE("an_answer_let_through_ends_judging_after_its_message") {
  scenario s(R"(
{"type":"hello","agents":["ada"]}
{"type":"activation_started","activation":"v1","agent":"ada"}
{"type":"activation_ended","activation":"v1","outputs":[)"
             R"({"id":"e8","submit":true},{"id":"e9","submit":true},{"id":"e7","recipients":["zed"]}]}
{"type":"event","event":{"id":"e6","recipients":["zed"]}})");
  // All three were judged against the same graph, so the orphan is reported and given back.
  CHECK(s.detection_summaries() == strings{"orphaned_event e7 [zed] reroute"});
  CHECK(s.run().terminal());
  CHECK(delivery_state(s, "e7", "ada") == "pending");
  CHECK(s.verdict_on("e6").action == action::deliver);
}

TEST_CASE("names_given_twice_count_once") {
  scenario s(R"(
{"type":"hello","agents":["ada","ada"]}
{"type":"event","event":{"id":"e1","recipients":["ada","ada"]}}
{"type":"event","event":{"id":"e2","recipients":["zed","zed"]}}
{"type":"activation_started","activation":"v1","agent":"ada","inputs":["e1","e1"]})");
  CHECK(s.graph().roster_size() == 1);
  CHECK(s.detection_summaries() == strings{"orphaned_event e2 [zed] not healed: target"});
  CHECK(s.graph().activation(s.graph().find_activation("v1")).inputs.size() == 1);
}
