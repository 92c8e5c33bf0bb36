// Excessive rerouting (ER): an event is passed on again and again and nobody consumes it.
#include <catch2/catch.hpp>

#include "tests/rules/firing.h"

using namespace digd;
using namespace digd::tests;
using strings = std::vector<std::string>;

namespace {

const firing circle{
    .rule = "excessive_rerouting",
    .hello = R"("agents":["ada","bob","cy"])",
    .lines = R"(
{"type":"event","event":{"id":"e1","recipients":["ada"]}}
{"type":"activation_started","activation":"v1","agent":"ada","inputs":["e1"]}
{"type":"activation_ended","activation":"v1","reactions":{"e1":{"reroute":["bob"]}}}
{"type":"activation_started","activation":"v2","agent":"bob","inputs":["e1"]}
{"type":"activation_ended","activation":"v2","reactions":{"e1":{"reroute":["cy"]}}}
{"type":"activation_started","activation":"v3","agent":"cy","inputs":["e1"]}
)",
    .last = R"({"type":"activation_ended","activation":"v3","reactions":{"e1":{"reroute":["ada"]}},"ts":7})"};

// e1 is passed on by p0, p1, … in turn; each message is two lines.
std::string passed_on(int times) {
  std::string lines;
  for (int i = 0; i < times; ++i) {
    const std::string n = std::to_string(i), next = std::to_string(i + 1);
    lines += R"({"type":"activation_started","activation":"v)" + n + R"(","agent":"p)" + n +
             R"(","inputs":["e1"]})"
             "\n" +
             R"({"type":"activation_ended","activation":"v)" + n + R"(","reactions":{"e1":{"reroute":["p)" + next +
             R"("]}}})"
             "\n";
  }
  return lines;
}

}  // namespace

TEST_CASE("ER: the reroute beyond max_reroutes carries a word to its new holder") {
  const scenario s = play(circle);
  const detection& d = s.only();
  CHECK(told(d) == "excessive_rerouting e1 [] inject");
  CHECK(d.severity == severity::warning);
  CHECK(d.at == 7u);
  CHECK(d.ts == 7);
  CHECK(d.evidence_total == 0);
  CHECK(d.reason == R"(The event "e1" was rerouted 3 times and nobody has consumed it.)");
  CHECK(s.verdict_on("e1").action == action::inject);
  CHECK(s.verdict_on("e1").recipients.empty());
  CHECK(
      s.verdict_on("e1").inject ==
      R"(The event "e1" was already passed on 3 times, by "ada", "bob", "cy", and nobody has handled it. Do not pass it on )"
      R"(again: handle it now as well as you can, even if only to say why it cannot be done.)");
  CHECK(s.reachable() == strings{"e1"});
}

TEST_CASE("ER: once is once in words too") {
  scenario s(R"(
{"type":"hello","rules":{"excessive_rerouting":{"max_reroutes":0}}}
{"type":"event","event":{"id":"e1","recipients":["ada"]}}
{"type":"activation_started","activation":"v1","agent":"ada","inputs":["e1"]}
{"type":"activation_ended","activation":"v1","reactions":{"e1":{"reroute":["bob"]}}})");
  CHECK(s.only().reason == R"(The event "e1" was rerouted 1 time and nobody has consumed it.)");
}

TEST_CASE("ER: near misses") {
  const auto told_after = [](const std::string& hello, const std::string& lines) {
    scenario s(R"({"type":"hello",)" + hello + "}\n" +
               R"({"type":"event","event":{"id":"e1","recipients":["p0","q"]}})");
    return s.then(lines).told();
  };
  const std::string most = R"("rules":{"excessive_rerouting":{"max_reroutes":2}})";
  CHECK(told_after(most, passed_on(2)) == strings{});
  CHECK(told_after(most, passed_on(3)) == strings{"excessive_rerouting e1 [] inject"});
  CHECK(told_after(R"("labels":{})", passed_on(2)) == strings{});  // 2 is the default
  CHECK(told_after(R"("labels":{})", passed_on(3)).size() == 1);
  // Somebody else consumed it in the meantime.
  CHECK(told_after(most, R"(
{"type":"activation_started","activation":"w","agent":"q","inputs":["e1"]}
{"type":"activation_ended","activation":"w"})"
                         "\n" +
                             passed_on(3)) == strings{});
  // A failed activation consumes nothing; neither does discarding.
  CHECK(told_after(most, R"(
{"type":"activation_started","activation":"w","agent":"q","inputs":["e1"]}
{"type":"activation_ended","activation":"w","failed":true})"
                         "\n" +
                             passed_on(3))
            .size() == 1);
  CHECK(told_after(most, R"(
{"type":"activation_started","activation":"w","agent":"q","inputs":["e1"]}
{"type":"activation_ended","activation":"w","reactions":{"e1":"discard"}})"
                         "\n" +
                             passed_on(3))
            .size() == 1);
  // To two agents at once is one act.
  CHECK(told_after(most, R"(
{"type":"activation_started","activation":"w","agent":"q","inputs":["e1"]}
{"type":"activation_ended","activation":"w","reactions":{"e1":{"reroute":["x","y","z"]}}})"
                         "\n" +
                             passed_on(1)) == strings{});
  // A notice may be passed on for ever.
  scenario notice(R"({"type":"hello"})"
                  "\n"
                  R"({"type":"event","event":{"id":"e1","recipients":["p0"],"fyi":true}})");
  CHECK(notice.then(passed_on(9)).told() == strings{});
}

TEST_CASE("ER: being given back is no reroute act, being rerouted to nobody is one") {
  scenario s(R"(
{"type":"hello","agents":["ada","bob"],"rules":{"excessive_rerouting":{"max_reroutes":1}}}
{"type":"activation_started","activation":"v0","agent":"ada"}
{"type":"event","event":{"id":"e1","source":"v0","recipients":["zed"]}}
{"type":"activation_started","activation":"v1","agent":"ada","inputs":["e1"]}
{"type":"activation_ended","activation":"v1","reactions":{"e1":{"reroute":[]}}})");
  CHECK(s.told() == strings{"orphaned_event e1 [zed] reroute", "orphaned_event e1 [] reroute"});
  s.then(R"(
{"type":"activation_started","activation":"v2","agent":"ada","inputs":["e1"]}
{"type":"activation_ended","activation":"v2","reactions":{"e1":{"reroute":["bob"]}}})");
  CHECK(s.told().back() == "excessive_rerouting e1 [] inject");
}

TEST_CASE("ER: modes and causes") { check_causes(circle); }

TEST_CASE("ER: there is no limit on attempts, only the budget") {
  scenario s(R"({"type":"hello","healing":{"budget":2}})");
  s.then(R"({"type":"event","event":{"id":"e1","recipients":["p0"]}})").then(passed_on(5));
  CHECK(s.told() == strings{"excessive_rerouting e1 [] inject", "excessive_rerouting e1 [] inject",
                            "excessive_rerouting e1 [] not healed: budget"});
}

TEST_CASE("ER: a text of one's own, with the rule's placeholders") {
  check_text_override(circle, "{event}/{times}/{passers}", R"("e1"/3 times/"ada", "bob", "cy")");
}

TEST_CASE("ER: each agent that passed it on is named once, in the order in which they first did") {
  scenario s(R"({"type":"hello","rules":{"excessive_rerouting":{"max_reroutes":3,"text":"{passers}"}}})");
  s.then(R"(
{"type":"event","event":{"id":"e1","recipients":["zoe"]}}
{"type":"activation_started","activation":"v1","agent":"zoe","inputs":["e1"]}
{"type":"activation_ended","activation":"v1","reactions":{"e1":{"reroute":["ada"]}}}
{"type":"activation_started","activation":"v2","agent":"ada","inputs":["e1"]}
{"type":"activation_ended","activation":"v2","reactions":{"e1":{"reroute":["zoe"]}}}
{"type":"activation_started","activation":"v3","agent":"zoe","inputs":["e1"]}
{"type":"activation_ended","activation":"v3","reactions":{"e1":{"reroute":["ada"]}}}
{"type":"activation_started","activation":"v4","agent":"ada","inputs":["e1"]}
{"type":"activation_ended","activation":"v4","reactions":{"e1":{"reroute":["bob"]}}})");
  CHECK(injected(s) == R"("zoe", "ada")");
}

TEST_CASE("ER: of many who passed it on eight are named and the others counted") {
  scenario s(R"({"type":"hello","rules":{"excessive_rerouting":{"max_reroutes":11,"text":"{passers}"}}})");
  s.then(R"({"type":"event","event":{"id":"e1","recipients":["p0"]}})").then(passed_on(12));
  CHECK(injected(s) == R"("p0", "p1", "p2", "p3", "p4", "p5", "p6", "p7" and 4 more)");
}

TEST_CASE("ER: names chosen by agents are quoted as data") {
  const std::string e = json_string(hostile('e')), a = json_string(hostile('a'));
  scenario s(R"({"type":"hello","rules":{"excessive_rerouting":{"max_reroutes":0}}})");
  s.then(R"({"type":"event","event":{"recipients":["ada"],"id":)" + e + "}}");
  s.then(R"({"type":"activation_started","activation":"v1","agent":)" + a + R"(,"inputs":[)" + e + "]}");
  s.then(R"({"type":"activation_ended","activation":"v1","reactions":{)" + e + R"(:{"reroute":["bob"]}}})");
  CHECK(s.only().reason == "The event " + hostile_quoted('e') + " was rerouted 1 time and nobody has consumed it.");
  CHECK(injected(s).starts_with("The event " + hostile_quoted('e') + " was already passed on 1 time, by " +
                                hostile_quoted('a') + ", and"));
}

TEST_CASE("ER: the witness shows who passed it on and who has it now") {
  const scenario s = play(circle);
  CHECK(nodes(s.only().witness) == "e1 | v1 v2 v3");
  CHECK(edges(s.only().witness) == strings{"e1 .. ada", "e1 > v1 reroute", "e1 > v2 reroute", "e1 > v3 reroute"});
  CHECK(connected(s.only().witness));

  scenario many(R"({"type":"hello","rules":{"excessive_rerouting":{"max_reroutes":79}}})");
  many.then(R"({"type":"event","event":{"id":"e1","recipients":["p0"]}})").then(passed_on(80));
  CHECK(many.only().witness.events.size() + many.only().witness.activations.size() == 64);
  CHECK(many.only().witness.truncated);
}

TEST_CASE("ER: cleared when the event is consumed") {
  scenario s = play(circle);
  s.then(R"(
{"type":"activation_started","activation":"v4","agent":"ada","inputs":["e1"]}
{"type":"activation_ended","activation":"v4","ts":20})");
  CHECK(s.became() == strings{"excessive_rerouting e1 cleared at 20"});
}

TEST_CASE("ER: recurred when it is passed on again, unresolved when it is discarded and the run ends") {
  scenario s = play(circle);
  s.then(R"(
{"type":"activation_started","activation":"v4","agent":"ada","inputs":["e1"]}
{"type":"activation_ended","activation":"v4","reactions":{"e1":{"reroute":["bob"]}},"ts":20})");
  CHECK(s.became() == strings{"excessive_rerouting e1 recurred at 20"});
  s.then(R"(
{"type":"activation_started","activation":"v5","agent":"bob","inputs":["e1"]}
{"type":"activation_ended","activation":"v5","reactions":{"e1":"discard"},"ts":30}
{"type":"run_ended","outcome":"success","ts":31})");
  CHECK(s.became().back() == "excessive_rerouting e1 unresolved at 31");
}
