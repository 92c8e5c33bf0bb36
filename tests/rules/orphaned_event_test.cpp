// Orphaned event (OE): work reaches nobody, at once or in the course of time.
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

std::vector<std::string> told_after(const std::string& hello, const std::string& lines) {
  scenario s(R"({"type":"hello",)" + hello + "}");
  return s.then(lines).told();
}

}  // namespace

TEST_CASE("OE: an event for nobody in the roster goes back to its sender at once") {
  const scenario s = play(to_a_stranger);
  const detection& d = s.only();
  CHECK(told(d) == "orphaned_event e2 [reviewer] reroute");
  CHECK(d.severity == severity::failure);
  CHECK(d.at == 3u);
  CHECK(d.ts == 7);
  CHECK(d.agent == std::nullopt);
  CHECK(d.reason ==
        R"(The event "e2" reaches nobody: it was given to "reviewer", and nobody can take it up any more.)");
  CHECK(s.verdict_on("e2").recipients == strings{"planner"});
  CHECK(
      s.verdict_on("e2").inject ==
      R"(Your event "e2" reached nobody (it was given to "reviewer"), so it is back with you. Agents that can receive: )"
      R"("coder", "planner". Send it to one of them or handle it yourself; if it is not needed any more, take it in and say so.)");
  CHECK(s.interventions.empty());
  CHECK(s.graph().is_pending(s.graph().find_event("e2"), s.graph().find_agent("planner")));
}

TEST_CASE("OE: an event addressed to nobody says so") {
  scenario s(R"(
{"type":"hello","agents":["planner"]}
{"type":"activation_started","activation":"v1","agent":"planner"}
{"type":"event","event":{"id":"e2","source":"v1"}})");
  CHECK(told(s.only()) == "orphaned_event e2 [] reroute");
  CHECK(s.only().reason == R"(The event "e2" is addressed to nobody.)");
  CHECK(s.verdict_on("e2").inject.starts_with(
      R"(Your event "e2" reached nobody (it was given to nobody), so it is back with you.)"));
}

TEST_CASE("OE: a reroute to nobody is told though others still hold the event") {
  const strings messages = told_after(R"("agents":["ada","bob","cy"])", R"(
{"type":"activation_started","activation":"v1","agent":"cy"}
{"type":"event","event":{"id":"e1","source":"v1","recipients":["ada","bob"]}}
{"type":"activation_started","activation":"v2","agent":"ada","inputs":["e1"]}
{"type":"activation_ended","activation":"v2","reactions":{"e1":{"reroute":[]}}})");
  CHECK(messages == strings{"orphaned_event e1 [] reroute"});
}

TEST_CASE("OE: an event that all have discarded is an orphan once the window is over") {
  const scenario s = play(discarded_by_all);
  const detection& d = s.only();
  CHECK(told(d) == "orphaned_event e2 [coder] reroute");
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

TEST_CASE("OE: near misses when it is announced") {
  const std::string roster = R"("agents":["ada","bob"])";
  const std::string begin = R"({"type":"activation_started","activation":"v1","agent":"ada"})"
                            "\n";
  // One recipient is enough.
  CHECK(
      told_after(roster, begin + R"({"type":"event","event":{"id":"e1","source":"v1","recipients":["zed","bob"]}})") ==
      strings{});
  // A notice, an answer.
  CHECK(told_after(roster, begin + R"({"type":"event","event":{"id":"e1","source":"v1","fyi":true}})") == strings{});
  CHECK(told_after(roster, begin + R"({"type":"event","event":{"id":"e1","source":"v1","submit":true}})") == strings{});
  // An open roster: whoever is named joins.
  CHECK(told_after(R"("labels":{})",
                   begin + R"({"type":"event","event":{"id":"e1","source":"v1","recipients":["zed"]}})") == strings{});
  // Who starts an activation has joined.
  CHECK(told_after(roster, begin + R"({"type":"activation_started","activation":"v2","agent":"zed"}
{"type":"event","event":{"id":"e1","source":"v1","recipients":["zed"]}})") == strings{});
  // A late event is not judged.
  CHECK(told_after(roster, R"({"type":"activation_started","activation":"v1","agent":"ada","inputs":["e1"]}
{"type":"event","event":{"id":"e1","recipients":["zed"]}})") == strings{});
}

TEST_CASE("OE: near misses in time") {
  const auto lambda = [](const std::string& lines) {
    return told_after(R"("agents":["ada","bob","cy"],"rules":{"orphaned_event":{"window_ms":10}})",
                      R"({"type":"activation_started","activation":"v1","agent":"cy"}
{"type":"event","event":{"id":"e1","source":"v1","recipients":["ada","bob"]}}
{"type":"activation_started","activation":"v2","agent":"ada","inputs":["e1"]})" +
                          lines);
  };
  // One millisecond is missing.
  CHECK(lambda(R"(
{"type":"agent_left","agent":"bob"}
{"type":"activation_ended","activation":"v2","reactions":{"e1":"discard"},"ts":5}
{"type":"time","ts":14})") == strings{});
  // Bob still has it; somebody works on it; somebody has consumed it; a gap hides what became of it.
  CHECK(lambda(R"(
{"type":"activation_ended","activation":"v2","reactions":{"e1":"discard"},"ts":5}
{"type":"time","ts":100})") == strings{});
  CHECK(lambda(R"(
{"type":"agent_left","agent":"bob"}
{"type":"time","ts":100})") == strings{});
  CHECK(lambda(R"(
{"type":"activation_ended","activation":"v2","ts":5}
{"type":"agent_left","agent":"bob"}
{"type":"time","ts":100})") == strings{});
  CHECK(lambda(R"(
{"type":"activation_ended","activation":"v2","reactions":{"e1":"discard"},"ts":5}
{"type":"gap","dropped":1}
{"type":"time","ts":100})") == strings{});
  // Taken up in time, and the window starts from the beginning.
  CHECK(lambda(R"(
{"type":"agent_left","agent":"bob"}
{"type":"activation_ended","activation":"v2","reactions":{"e1":"discard"},"ts":5}
{"type":"activation_started","activation":"v3","agent":"ada","inputs":["e1"],"ts":14}
{"type":"activation_ended","activation":"v3","reactions":{"e1":"discard"},"ts":15}
{"type":"time","ts":24})") == strings{});
}

TEST_CASE("OE: evidence is every agent that it was ever given to, lost or not") {
  const strings messages = told_after(R"("agents":["ada","bob"],"rules":{"orphaned_event":{"window_ms":10}})", R"(
{"type":"activation_started","activation":"v1","agent":"ada"}
{"type":"event","event":{"id":"e1","source":"v1","recipients":["bob","zed"]}}
{"type":"agent_left","agent":"bob"}
{"type":"time","ts":10})");
  CHECK(messages == strings{"orphaned_event e1 [bob, zed] reroute"});
}

TEST_CASE("OE: modes and causes") {
  check_causes(to_a_stranger);
  check_causes(discarded_by_all);
}

TEST_CASE("OE: a root event, a placeholder and an event whose sender left have nobody to go back to") {
  const std::string roster = R"("agents":["ada","bob"],"rules":{"orphaned_event":{"window_ms":10}})";
  CHECK(told_after(roster, R"({"type":"event","event":{"id":"e1","recipients":["zed"]}}
{"type":"time","ts":100})") == strings{"orphaned_event e1 [zed] not healed: target"});
  CHECK(told_after(roster, R"(
{"type":"activation_started","activation":"v1","agent":"ada"}
{"type":"activation_started","activation":"v2","agent":"bob","inputs":["e1"]}
{"type":"activation_ended","activation":"v2","reactions":{"e1":"discard"}}
{"type":"time","ts":10})") == strings{"orphaned_event e1 [bob] not healed: target"});
  CHECK(told_after(roster, R"(
{"type":"activation_started","activation":"v1","agent":"ada"}
{"type":"agent_left","agent":"ada"}
{"type":"event","event":{"id":"e1","source":"v1","recipients":["zed"]}})") ==
        strings{"orphaned_event e1 [zed] not healed: target"});
}

TEST_CASE("OE: attempts are counted by event") {
  scenario s(R"({"type":"hello","agents":["ada"],"rules":{"orphaned_event":{"max_attempts":2}}})");
  s.then(R"(
{"type":"activation_started","activation":"v0","agent":"ada"}
{"type":"event","event":{"id":"e1","source":"v0","recipients":["zed"]}}
{"type":"activation_started","activation":"v1","agent":"ada","inputs":["e1"]}
{"type":"activation_ended","activation":"v1","reactions":{"e1":{"reroute":["zed"]}}}
{"type":"activation_started","activation":"v2","agent":"ada","inputs":["e1"]}
{"type":"activation_ended","activation":"v2","reactions":{"e1":{"reroute":["zed"]}}}
{"type":"event","event":{"id":"e2","source":"v0","recipients":["zed"]}})");
  CHECK(s.told() == strings{"orphaned_event e1 [zed] reroute", "orphaned_event e1 [zed] reroute",
                            "orphaned_event e1 [zed] not healed: attempts", "orphaned_event e2 [zed] reroute"});
}

TEST_CASE("OE: an orphan that could not be healed is told once, and again once it was given to somebody") {
  const strings messages = told_after(R"("agents":["ada","bob"],"rules":{"orphaned_event":{"window_ms":10}})", R"(
{"type":"activation_started","activation":"v1","agent":"ada"}
{"type":"event","event":{"id":"e1","recipients":["zed"]}}
{"type":"time","ts":1000}
{"type":"activation_started","activation":"v2","agent":"bob","inputs":["e0"]}
{"type":"activation_ended","activation":"v2","reactions":{"e0":{"reroute":["zed"]}}}
{"type":"time","ts":2000}
{"type":"activation_started","activation":"v3","agent":"bob","inputs":["e0"]}
{"type":"activation_ended","activation":"v3","reactions":{"e0":"discard"}}
{"type":"time","ts":3000})");
  // e0 and e1 settle with the message that told of them, so that nothing can be said of them later.
  CHECK(messages ==
        strings{"orphaned_event e1 [zed] not healed: target", "orphaned_event e0 [zed] not healed: target"});
}

TEST_CASE("OE: a text of one's own, with the rule's placeholders") {
  check_text_override(to_a_stranger, "{event} for {agents}; there are {roster}",
                      R"("e2" for "reviewer"; there are "coder", "planner")");
  check_text_override(discarded_by_all, "{event} for {agents}", R"("e2" for "coder")");
}

TEST_CASE("OE: names chosen by agents are quoted as data") {
  scenario s(R"({"type":"hello","agents":["ada",)" + json_string(hostile('r')) + "]}");
  s.then(R"({"type":"activation_started","activation":"v1","agent":"ada"})");
  s.then(R"({"type":"event","event":{"source":"v1","id":)" + json_string(hostile('e')) + R"(,"recipients":[)" +
         json_string(hostile('z')) + "]}}");
  CHECK(s.only().reason == "The event " + hostile_quoted('e') + " reaches nobody: it was given to " +
                               hostile_quoted('z') + ", and nobody can take it up any more.");
  CHECK(s.verdict_on(hostile('e')).inject.find("can receive: \"ada\", " + hostile_quoted('r') + ". Send") !=
        std::string::npos);
  CHECK(s.verdict_on(hostile('e')).inject.find('\n') == std::string::npos);
}

TEST_CASE("OE: long lists are cut, in the text and in the evidence, and say so") {
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
  CHECK(d.reason.ends_with(R"( and 994 more, and nobody can take it up any more.)"));
}

TEST_CASE("OE: the witness shows the event, its source and who had it") {
  const scenario s = play(discarded_by_all);
  CHECK(nodes(s.only().witness) == "e2 | v1 v2");
  CHECK(edges(s.only().witness) == strings{"e2 > v2 discard", "v1 > e2"});
  CHECK(nodes(play(to_a_stranger).only().witness) == "e2 | v1");
}

TEST_CASE("OE: the witness of an event that many had is truncated") {
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

TEST_CASE("OE: cleared when the event is consumed, recurred when it is an orphan again, else unresolved") {
  scenario s = play(to_a_stranger);
  s.then(R"(
{"type":"activation_started","activation":"v2","agent":"planner","inputs":["e2"]}
{"type":"activation_ended","activation":"v2","reactions":{"e2":{"reroute":["tester"]}},"ts":20})");
  CHECK(s.became() == strings{"orphaned_event e2 recurred at 20"});
  s.then(R"(
{"type":"activation_started","activation":"v3","agent":"planner","inputs":["e2"]}
{"type":"activation_ended","activation":"v3","reactions":{"e2":{"reroute":["coder"]}},"ts":30}
{"type":"activation_started","activation":"v4","agent":"coder","inputs":["e2"]}
{"type":"activation_ended","activation":"v4","ts":40})");
  CHECK(s.became().back() == "orphaned_event e2 cleared at 40");
  CHECK(s.outcomes.size() == 2);

  scenario other = play(to_a_stranger);
  other.then(R"({"type":"run_ended","outcome":"success","ts":50})");
  CHECK(other.became() == strings{"orphaned_event e2 unresolved at 50"});
}

TEST_CASE("OE: what became of an event is told though the run forgets it with the message that consumed it") {
  scenario s = play(to_a_stranger, R"("limits":{"settled_events":0})");
  s.then(R"(
{"type":"activation_started","activation":"v2","agent":"planner","inputs":["e2"]}
{"type":"activation_ended","activation":"v2","ts":20})");
  CHECK_FALSE(s.knows("e2"));
  CHECK(s.became() == strings{"orphaned_event e2 cleared at 20"});
}
