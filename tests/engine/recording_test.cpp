// What is recorded: placeholders, late events, rosters, give-backs and reports on deliveries.
#include <catch2/catch.hpp>

#include "tests/engine/scenario.h"

using namespace digd;
using namespace digd::tests;
using strings = std::vector<std::string>;

namespace {

const graph::event_node& event(const scenario& s, const char* id) { return s.graph().event(s.graph().find_event(id)); }

std::string delivered(const scenario& s, const char* id, const char* agent) {
  const graph::delivery* d = s.graph().find_delivery(s.graph().find_event(id), s.graph().find_agent(agent));
  return d == nullptr ? "never" : std::string(to_string(d->state));
}

}  // namespace

TEST_CASE("an input never seen becomes a placeholder: work, delivered to that agent") {
  scenario s(R"(
{"type":"hello","agents":["ada","bob"]}
{"type":"activation_started","activation":"v1","agent":"ada","inputs":["e1"]})");
  CHECK(s.reachable() == strings{"e1"});
  CHECK(event(s, "e1").placeholder);
  CHECK(s.verdicts.empty());
}

TEST_CASE("a late event fills its placeholder in, is delivered as it is and is given to whoever never had it") {
  scenario s(R"(
{"type":"hello","agents":["ada","bob","cy"]}
{"type":"activation_started","activation":"v1","agent":"ada","inputs":["e1"]}
{"type":"activation_ended","activation":"v1","reactions":{"e1":"discard"}}
{"type":"activation_started","activation":"v2","agent":"cy"}
{"type":"event","event":{"id":"e1","source":"v2","recipients":["ada","bob","zed"],"kind":"task"}})");
  CHECK(s.told() == strings{});
  CHECK(s.verdict_on("e1").action == action::deliver);
  CHECK(delivered(s, "e1", "ada") == "discarded");
  CHECK(delivered(s, "e1", "bob") == "pending");
  CHECK(delivered(s, "e1", "zed") == "lost");
  REQUIRE(event(s, "e1").kind != nullptr);
  CHECK(*event(s, "e1").kind == "task");
  CHECK(s.graph().activation(event(s, "e1").source).id == "v2");
  // It is filled in once.
  s.then(R"({"type":"event","event":{"id":"e1","recipients":["ada"]}})");
  CHECK(s.errors.back().code == "duplicate_event");
}

TEST_CASE("a late event is derived from nothing") {
  scenario s(R"(
{"type":"hello","agents":["ada","bob"]}
{"type":"event","event":{"id":"e1","recipients":["bob"]}}
{"type":"activation_started","activation":"v1","agent":"bob","inputs":["e1"]}
{"type":"activation_started","activation":"v2","agent":"ada","inputs":["late"]}
{"type":"event","event":{"id":"late","source":"v1","recipients":["ada"]}}
{"type":"activation_ended","activation":"v2","outputs":[{"id":"e9","submit":true}]})");
  CHECK(s.told() == strings{"early_termination e9 [e1] reroute"});
}

TEST_CASE("a late answer counts as let through at once") {
  scenario s(R"(
{"type":"hello","agents":["ada","bob"]}
{"type":"event","event":{"id":"e1","recipients":["bob"]}}
{"type":"activation_started","activation":"v1","agent":"ada","inputs":["e9"]}
{"type":"event","event":{"id":"e9","source":"v1","submit":true}})");
  CHECK(s.run().terminal());
  CHECK(s.told() == strings{});
}

TEST_CASE("a late notice is no work any more") {
  scenario s(R"(
{"type":"hello","agents":["ada"]}
{"type":"activation_started","activation":"v1","agent":"ada","inputs":["e1"]}
{"type":"event","event":{"id":"e1","fyi":true}})");
  CHECK(s.reachable() == strings{});
}

TEST_CASE("a late event that has settled stays as it is") {
  scenario s(R"(
{"type":"hello","agents":["ada","bob"]}
{"type":"activation_started","activation":"v1","agent":"ada","inputs":["e1"]}
{"type":"activation_ended","activation":"v1"}
{"type":"event","event":{"id":"e1","recipients":["bob"]}})");
  CHECK(event(s, "e1").settled);
  CHECK(s.reachable() == strings{});
  CHECK(delivered(s, "e1", "bob") == "never");
}

TEST_CASE("a settled event is an input like another and never waits again") {
  scenario s(R"(
{"type":"hello","agents":["ada","bob"]}
{"type":"event","event":{"id":"e1","recipients":["ada"]}}
{"type":"activation_started","activation":"v1","agent":"ada","inputs":["e1"]}
{"type":"activation_ended","activation":"v1"}
{"type":"activation_started","activation":"v2","agent":"bob","inputs":["e1"]})");
  CHECK(s.reachable() == strings{});
  CHECK(delivered(s, "e1", "bob") == "never");
  CHECK(s.graph().activation(s.graph().find_activation("v2")).inputs.size() == 1);
}

TEST_CASE("an open roster takes in whoever is named, a closed one only who joins or acts") {
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
  CHECK(delivered(closed, "e1", "ada") == "lost");
}

TEST_CASE("a further session's agents join an open roster and leave it open") {
  scenario s(R"(
{"type":"hello","session":"a"}
{"type":"hello","session":"b","agents":["bob"]}
{"type":"event","session":"b","event":{"id":"e1","recipients":["cy"]}})");
  CHECK(s.problem == "");
  CHECK(s.graph().roster_size() == 2);
}

TEST_CASE("who leaves loses what waited, who comes back starts anew") {
  scenario s(R"(
{"type":"hello","agents":["ada","bob"],"mode":"off"}
{"type":"event","event":{"id":"e1","recipients":["ada","bob"]}}
{"type":"agent_left","agent":"ada"}
{"type":"agent_left","agent":"nobody"}
{"type":"agent_joined","agent":"ada"})");
  CHECK(delivered(s, "e1", "ada") == "lost");
  CHECK(s.reachable() == strings{"e1"});
  s.then(R"({"type":"event","event":{"id":"e2","recipients":["ada"]}})");
  CHECK(delivered(s, "e2", "ada") == "pending");
}

TEST_CASE("a failed activation leaves its inputs as they are") {
  scenario s(R"(
{"type":"hello","agents":["ada"]}
{"type":"event","event":{"id":"e1","recipients":["ada"]}}
{"type":"activation_started","activation":"v1","agent":"ada","inputs":["e1"]}
{"type":"activation_ended","activation":"v1","failed":true,"error":"timeout"})");
  CHECK(s.reachable() == strings{"e1"});
  CHECK_FALSE(event(s, "e1").consumed);
}

TEST_CASE("all reroutes of an end are recorded before any is judged") {
  // Both events go to each other's agent; each is judged against the graph with both.
  scenario s(R"(
{"type":"hello","agents":["ada","bob","cy","dee"]}
{"type":"activation_started","activation":"g1","agent":"cy"}
{"type":"event","event":{"id":"e1","source":"g1","recipients":["ada"]}}
{"type":"activation_started","activation":"g2","agent":"cy"}
{"type":"event","event":{"id":"e2","source":"g2","recipients":["bob"]}}
{"type":"activation_started","activation":"v1","agent":"dee","inputs":["e1","e2"]}
{"type":"activation_ended","activation":"v1","reactions":{"e1":{"reroute":["cy"]},"e2":{"reroute":["cy"]}}})");
  CHECK(s.told() ==
        strings{"cross_lineage_aggregation e1 @cy [e2] inject", "cross_lineage_aggregation e2 @cy [e1] inject"});
  CHECK(s.verdicts.size() == 4);
  CHECK(s.verdicts[2].event == "e1");
  CHECK(s.verdicts[3].event == "e2");
}

TEST_CASE("a verdict that was not applied: the answer counts as let through after all") {
  const std::string early = R"(
{"type":"hello","agents":["ada","bob"]}
{"type":"event","event":{"id":"e1","recipients":["bob"]}}
{"type":"activation_started","activation":"v1","agent":"ada"}
{"type":"event","event":{"id":"e9","source":"v1","recipients":["bob"],"submit":true}}
)";
  for (const char* text : {"injected", "rerouted", "created", "unsupported", "failed"}) {
    scenario s(early + R"({"type":"delivery","event":"e9","applied":")" + text + "\"}");
    CHECK_FALSE(s.run().terminal());
    CHECK(delivered(s, "e9", "ada") == "pending");
  }
  scenario s(early);
  CHECK(delivered(s, "e9", "bob") == "withdrawn");
  s.then(R"({"type":"delivery","event":"e9","applied":"as_is","reason":"timeout"})");
  CHECK(s.run().terminal());
  CHECK(delivered(s, "e9", "ada") == "withdrawn");
  CHECK(s.became() == strings{});  // the early work still waits, and this answer was no clean one
}

TEST_CASE("a give-back that was not applied is withdrawn, what the client itself delivered is not") {
  scenario s(R"(
{"type":"hello","agents":["ada","bob"],"rules":{"orphaned_event":{"window_ms":10}}}
{"type":"activation_started","activation":"v1","agent":"ada"}
{"type":"event","event":{"id":"e1","source":"v1","recipients":["zed"]}}
{"type":"event","event":{"id":"e2","source":"v1","recipients":["ada"]}})");
  CHECK(delivered(s, "e1", "ada") == "pending");
  s.then(R"({"type":"delivery","event":"e1","applied":"as_is"})"
         "\n"
         R"({"type":"delivery","event":"e2","applied":"as_is"})");
  CHECK(delivered(s, "e1", "ada") == "withdrawn");
  CHECK(delivered(s, "e2", "ada") == "pending");
  // Nobody has it now, and the window that starts is healed by another give-back.
  s.then(R"({"type":"time","ts":10})");
  CHECK(s.told().back() == "orphaned_event e1 [ada, zed] reroute");
  CHECK(s.interventions.back().id == "give:e1:1");
  s.then(R"({"type":"delivery","of":"give:e1:1","applied":"as_is"})");
  CHECK(delivered(s, "e1", "ada") == "withdrawn");
  s.then(R"({"type":"time","ts":20})");
  CHECK(s.interventions.back().id == "give:e1:2");
}

TEST_CASE("a give-back that was taken up cannot be withdrawn") {
  scenario s(R"(
{"type":"hello","agents":["ada"]}
{"type":"activation_started","activation":"v1","agent":"ada"}
{"type":"event","event":{"id":"e1","source":"v1","recipients":["zed"]}}
{"type":"activation_started","activation":"v2","agent":"ada","inputs":["e1"]}
{"type":"activation_ended","activation":"v2"}
{"type":"delivery","event":"e1","applied":"as_is"})");
  CHECK(delivered(s, "e1", "ada") == "consumed");
}

TEST_CASE("what was delivered as it is before it could be judged is judged, and not healed") {
  scenario s(R"(
{"type":"hello","agents":["ada","bob"]}
{"type":"event","event":{"id":"e1","recipients":["bob"]}}
{"type":"activation_started","activation":"v1","agent":"ada"}
{"type":"event","as_is":true,"event":{"id":"e9","source":"v1","submit":true}})");
  CHECK(s.told() == strings{"early_termination e9 [e1] not healed: as_is"});
  CHECK(s.run().terminal());
}

TEST_CASE("the first of two answers of a message that is let through ends the judging, not the message") {
  scenario s(R"(
{"type":"hello","agents":["ada"]}
{"type":"activation_started","activation":"v1","agent":"ada"}
{"type":"activation_ended","activation":"v1","outputs":[{"id":"e8","submit":true},{"id":"e9","submit":true},{"id":"e7","recipients":["zed"]}]}
{"type":"event","event":{"id":"e6","recipients":["zed"]}})");
  // All three were judged against the same graph: the orphan is told, and given back.
  CHECK(s.told() == strings{"orphaned_event e7 [zed] reroute"});
  CHECK(s.run().terminal());
  CHECK(delivered(s, "e7", "ada") == "pending");
  CHECK(s.verdict_on("e6").action == action::deliver);
}

TEST_CASE("names given twice count once") {
  scenario s(R"(
{"type":"hello","agents":["ada","ada"]}
{"type":"event","event":{"id":"e1","recipients":["ada","ada"]}}
{"type":"event","event":{"id":"e2","recipients":["zed","zed"]}}
{"type":"activation_started","activation":"v1","agent":"ada","inputs":["e1","e1"]})");
  CHECK(s.graph().roster_size() == 1);
  CHECK(s.told() == strings{"orphaned_event e2 [zed] not healed: target"});
  CHECK(s.graph().activation(s.graph().find_activation("v1")).inputs.size() == 1);
}
