// Missing termination (MC): all work is done, nobody is active, and nobody submits.
#include <catch2/catch.hpp>

#include "tests/rules/firing.h"

using namespace digd;
using namespace digd::tests;
using strings = std::vector<std::string>;

namespace {

const firing all_done{.rule = "missing_termination",
                      .hello = R"("agents":["coder","tester"])",
                      .lines = R"(
{"type":"event","event":{"id":"e1","recipients":["coder"]}}
{"type":"activation_started","activation":"v1","agent":"coder","inputs":["e1"]}
{"type":"activation_ended","activation":"v1","outputs":[{"id":"e2","recipients":["tester"]}]}
{"type":"activation_started","activation":"v2","agent":"tester","inputs":["e2"]}
{"type":"activation_ended","activation":"v2","ts":100}
)",
                      .last = R"({"type":"time","ts":10100})"};

std::vector<std::string> told_after(const std::string& hello, const std::string& lines) {
  scenario s(R"({"type":"hello",)" + hello + "}");
  return s.then(lines).told();
}

}  // namespace

TEST_CASE("MC: when all work is done and nobody submits, the last to act is told") {
  const scenario s = play(all_done);
  const detection& d = s.only();
  CHECK(told(d) == "missing_termination @tester [] create");
  CHECK(d.severity == severity::failure);
  CHECK(d.at == std::nullopt);
  CHECK(d.event == std::nullopt);
  CHECK(d.ts == 10100);
  CHECK(d.evidence_total == 0);
  CHECK(d.reason ==
        R"(All work is done, nobody is active, and no answer was submitted; the last to act was agent "tester".)");
  REQUIRE(s.interventions.size() == 1);
  CHECK(s.interventions[0].id == "sys:1");
  CHECK(s.interventions[0].recipients == strings{"tester"});
  CHECK(
      s.interventions[0].inject ==
      R"(To agent "tester": all reachable work is exhausted and nobody is working, but no final answer was submitted. You )"
      R"(were the last to act: put the results together and submit the final answer now, or send out what is still missing.)");
  CHECK(s.reachable().empty());
}

TEST_CASE("MC: near misses") {
  const std::string roster = R"("agents":["ada","bob"],"rules":{"deadlock":{"mode":"off"}})";
  const std::string acted = R"({"type":"activation_started","activation":"v1","agent":"ada"}
{"type":"activation_ended","activation":"v1"}
)";
  CHECK(told_after(roster, acted + R"({"type":"time","ts":10000})") == strings{"missing_termination @ada [] create"});
  CHECK(told_after(roster, acted + R"({"type":"time","ts":9999})") == strings{});
  // Nobody has acted yet; or not since the gap.
  CHECK(told_after(roster, R"({"type":"time","ts":20000})") == strings{});
  CHECK(told_after(roster, acted + R"({"type":"gap"}
{"type":"time","ts":20000})") == strings{});
  // Work waits; somebody is at work; the answer is out; the run is over.
  CHECK(told_after(roster, acted + R"({"type":"event","event":{"id":"e1","recipients":["bob"]}}
{"type":"time","ts":20000})") == strings{});
  CHECK(told_after(roster, acted + R"({"type":"activation_started","activation":"v2","agent":"bob"}
{"type":"time","ts":20000})") == strings{});
  CHECK(told_after(roster, acted + R"({"type":"activation_started","activation":"v2","agent":"bob"}
{"type":"activation_ended","activation":"v2","outputs":[{"id":"e9","submit":true}]}
{"type":"time","ts":20000})") == strings{});
  CHECK(told_after(roster, acted + R"({"type":"run_ended","outcome":"success"})") == strings{});
  // It takes the whole window again after a moment of activity.
  CHECK(told_after(roster, acted + R"({"type":"activation_started","activation":"v2","agent":"bob","ts":9999}
{"type":"activation_ended","activation":"v2","ts":9999}
{"type":"time","ts":19998})") == strings{});
}

TEST_CASE("MC: a failed activation has ended too, and a notice is no work") {
  const std::string roster = R"("agents":["ada","bob"])";
  CHECK(told_after(roster, R"({"type":"activation_started","activation":"v1","agent":"ada"}
{"type":"activation_ended","activation":"v1","failed":true}
{"type":"time","ts":10000})") == strings{"missing_termination @ada [] create"});
  CHECK(told_after(roster, R"({"type":"activation_started","activation":"v1","agent":"ada"}
{"type":"activation_ended","activation":"v1","outputs":[{"id":"e1","recipients":["bob"],"fyi":true}]}
{"type":"time","ts":10000})") == strings{"missing_termination @ada [] create"});
}

TEST_CASE("MC: after a gap the next end starts it again") {
  CHECK(told_after(R"("agents":["ada","bob"],"rules":{"missing_termination":{"window_ms":10}})", R"(
{"type":"activation_started","activation":"v1","agent":"ada"}
{"type":"activation_started","activation":"v2","agent":"bob"}
{"type":"gap"}
{"type":"activation_ended","activation":"v2","ts":5}
{"type":"time","ts":15})") == strings{"missing_termination @bob [] create"});
}

TEST_CASE("MC: modes and causes") { check_causes(all_done); }

TEST_CASE("MC: an agent that has left cannot be told") {
  CHECK(told_after(R"("agents":["ada","bob"])", R"(
{"type":"activation_started","activation":"v1","agent":"ada"}
{"type":"activation_ended","activation":"v1"}
{"type":"agent_left","agent":"ada"}
{"type":"time","ts":10000})") == strings{"missing_termination @ada [] not healed: target"});
}

TEST_CASE("MC: healed three times by default, then told once more and no further") {
  scenario s(R"(
{"type":"hello","agents":["ada"],"rules":{"missing_termination":{"window_ms":10}}}
{"type":"activation_started","activation":"v1","agent":"ada"}
{"type":"activation_ended","activation":"v1"}
{"type":"time","ts":1000})");
  CHECK(s.told() == strings{"missing_termination @ada [] create", "missing_termination @ada [] create",
                            "missing_termination @ada [] create", "missing_termination @ada [] not healed: attempts"});
  CHECK(s.became() == strings{"missing_termination sys:1 recurred at 20", "missing_termination sys:2 recurred at 30",
                              "missing_termination sys:3 recurred at 40"});
  // The condition is broken and made again: it may fire again.
  s.then(R"(
{"type":"activation_started","activation":"v2","agent":"ada"}
{"type":"activation_ended","activation":"v2"}
{"type":"time","ts":1010})");
  CHECK(s.detections.size() == 5);
}

TEST_CASE("MC: a text of one's own, with the rule's placeholder") {
  check_text_override(all_done, "{agent}, finish!", R"("tester", finish!)");
}

TEST_CASE("MC: names chosen by agents are quoted as data") {
  scenario s(R"({"type":"hello"})");
  s.then(R"({"type":"activation_started","activation":"v1","agent":)" + json_string(hostile('a')) + "}");
  s.then(R"({"type":"activation_ended","activation":"v1"})"
         "\n"
         R"({"type":"time","ts":10000})");
  CHECK(s.only().agent == hostile('a'));
  CHECK(s.only().reason.ends_with("the last to act was agent " + hostile_quoted('a') + "."));
  CHECK(injected(s).starts_with("To agent " + hostile_quoted('a') + ": all reachable"));
  CHECK(injected(s).find('\n') == std::string::npos);
}

TEST_CASE("MC: the witness shows the last activation and what it was given") {
  const scenario s = play(all_done);
  CHECK(nodes(s.only().witness) == "e2 | v2");
  CHECK(edges(s.only().witness) == strings{"e2 > v2 consume"});
  CHECK_FALSE(s.only().witness.truncated);

  scenario forgotten = play(all_done, R"("limits":{"settled_events":0})");
  CHECK(nodes(forgotten.only().witness) == " | ");
}

TEST_CASE("MC: the witness of an activation with many inputs is truncated") {
  scenario s(R"({"type":"hello"})");
  s.then(R"({"type":"activation_started","activation":"v1","agent":"ada","inputs":)" + numbered("e", 80) + "}");
  s.then(R"({"type":"activation_ended","activation":"v1"})"
         "\n"
         R"({"type":"time","ts":10000})");
  const witness& w = s.only().witness;
  CHECK(w.truncated);
  CHECK(w.events.size() + w.activations.size() == 64);
  REQUIRE(w.activations.size() == 1);  // what the sentence is about comes first
  CHECK(w.activations[0].id == "v1");
}

TEST_CASE("MC: cleared when an answer is let through, unresolved when the run ends without") {
  scenario s = play(all_done);
  s.then(R"(
{"type":"activation_started","activation":"v3","agent":"tester","inputs":["sys:1"]}
{"type":"activation_ended","activation":"v3","outputs":[{"id":"e9","submit":true}],"ts":10200})");
  CHECK(s.became() == strings{"missing_termination sys:1 cleared at 10200"});

  scenario other = play(all_done);
  other.then(R"({"type":"run_ended","outcome":"failure","ts":10200})");
  CHECK(other.became() == strings{"missing_termination sys:1 unresolved at 10200"});
}
