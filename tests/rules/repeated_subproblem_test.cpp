// Repeated subproblem (RSP): a result is announced for work that somebody else has turned into a result already.
#include <catch2/catch.hpp>

#include "tests/rules/firing.h"

using namespace digd;
using namespace digd::tests;
using strings = std::vector<std::string>;

namespace {

// e2 went to ada and to bob, and both answer it.
const firing both{
    .rule = "repeated_subproblem",
    .hello = R"("agents":["ada","bob","cy"])",
    .lines = R"(
{"type":"event","event":{"id":"e2","recipients":["ada","bob"]}}
{"type":"activation_started","activation":"v2","agent":"ada","inputs":["e2"]}
{"type":"activation_started","activation":"v3","agent":"bob","inputs":["e2"]}
{"type":"activation_ended","activation":"v2","outputs":[{"id":"e4","recipients":["cy"]}]}
)",
    .last = R"({"type":"activation_ended","activation":"v3","ts":7,"outputs":[{"id":"e5","recipients":["cy"]}]})"};

}  // namespace

TEST_CASE("RSP: the second result for one piece of work comes with a word on the first") {
  const scenario s = play(both);
  const detection& d = s.only();
  CHECK(told(d) == "repeated_subproblem e5 [e2] inject");
  CHECK(d.severity == severity::warning);
  CHECK(d.at == 5u);
  CHECK(d.ts == 7);
  CHECK(d.agent == std::nullopt);
  CHECK(d.reason == R"(The output "e5" of agent "bob" answers work that "ada" answered already: "e2".)");
  CHECK(s.verdict_on("e5").action == action::inject);
  CHECK(
      s.verdict_on("e5").inject ==
      R"(The event "e5" of agent "bob" answers "e2", which "ada" already worked on. Do not count both results: compare )"
      R"(them, keep the better one, and repeat only the part that was wrong or missing.)");
}

TEST_CASE("RSP: near misses") {
  // The first half of the trace is the same: bob answers e2 with e5 after what `ada` does.
  const auto told_after = [](const std::string& ada, const std::string& bob) {
    scenario s(R"({"type":"hello","agents":["ada","bob","cy"]}
{"type":"event","event":{"id":"e2","recipients":["ada","bob"]}}
{"type":"activation_started","activation":"v2","agent":"ada","inputs":["e2"]}
{"type":"activation_started","activation":"v3","agent":"bob","inputs":["e2"]})");
    return s.then(ada).then(bob).told();
  };
  const std::string answer =
      R"({"type":"activation_ended","activation":"v3","outputs":[{"id":"e5","recipients":["cy"]}]})";
  const std::string consumed = R"({"type":"activation_ended","activation":"v2"})";
  CHECK(told_after(consumed, answer) == strings{"repeated_subproblem e5 [e2] inject"});
  // Ada is not done, has failed, has discarded it, has passed it on, waits.
  CHECK(told_after("", answer) == strings{});
  CHECK(told_after(R"({"type":"activation_ended","activation":"v2","failed":true})", answer) == strings{});
  for (const char* reaction : {R"("discard")", R"("wait")", R"({"reroute":["cy"]})"}) {
    CHECK(
        told_after(R"({"type":"activation_ended","activation":"v2","reactions":{"e2":)" + std::string(reaction) + "}}",
                   answer) == strings{});
  }
  // Ada has split it; bob splits it.
  CHECK(
      told_after(
          R"({"type":"activation_ended","activation":"v2","outputs":[{"id":"e6","recipients":["cy"]},{"id":"e7","recipients":["cy"]}]})",
          answer) == strings{});
  CHECK(
      told_after(
          consumed,
          R"({"type":"activation_ended","activation":"v3","outputs":[{"id":"e5","recipients":["cy"]},{"id":"e6","recipients":["cy"]}]})") ==
      strings{});
  // Bob did not use it; sends a notice; submits.
  CHECK(
      told_after(
          consumed,
          R"({"type":"activation_ended","activation":"v3","reactions":{"e2":"wait"},"outputs":[{"id":"e5","recipients":["cy"]}]})") ==
      strings{});
  CHECK(
      told_after(
          consumed,
          R"({"type":"activation_ended","activation":"v3","outputs":[{"id":"e5","recipients":["cy"],"fyi":true}]})") ==
      strings{});
  CHECK(
      told_after(
          consumed,
          R"({"type":"activation_ended","activation":"v3","outputs":[{"id":"e5","recipients":["cy"],"submit":true}]})") ==
      strings{});
}

TEST_CASE("RSP: an activation does not repeat itself") {
  scenario s(R"(
{"type":"hello","agents":["ada","cy"]}
{"type":"event","event":{"id":"e1","recipients":["ada"]}}
{"type":"event","event":{"id":"e2","recipients":["ada"]}}
{"type":"activation_started","activation":"v1","agent":"ada","inputs":["e1","e2"]}
{"type":"event","event":{"id":"e3","source":"v1","recipients":["cy"]}}
{"type":"activation_ended","activation":"v1","outputs":[{"id":"e4","recipients":["cy"]}]})");
  CHECK(s.told() == strings{});
}

TEST_CASE("RSP: answering a notice twice is no repetition") {
  scenario s(R"(
{"type":"hello","agents":["ada","bob","cy"]}
{"type":"event","event":{"id":"e1","recipients":["ada","bob"],"fyi":true}}
{"type":"activation_started","activation":"v1","agent":"ada","inputs":["e1"]}
{"type":"activation_ended","activation":"v1","outputs":[{"id":"e2","recipients":["cy"]}]}
{"type":"activation_started","activation":"v2","agent":"bob","inputs":["e1"]}
{"type":"activation_ended","activation":"v2","outputs":[{"id":"e3","recipients":["cy"]}]})");
  CHECK(s.told() == strings{});
}

TEST_CASE("RSP: an output is judged while its activation is still open, on all its inputs") {
  scenario s(R"(
{"type":"hello","agents":["ada","bob","cy"]}
{"type":"event","event":{"id":"e1","recipients":["ada","bob"]}}
{"type":"activation_started","activation":"v1","agent":"ada","inputs":["e1"]}
{"type":"activation_ended","activation":"v1"}
{"type":"activation_started","activation":"v2","agent":"bob","inputs":["e1"]}
{"type":"event","event":{"id":"e3","source":"v2","recipients":["cy"]}})");
  CHECK(s.told() == strings{"repeated_subproblem e3 [e1] inject"});
}

TEST_CASE("RSP: what others did between two outputs of an activation counts for the second") {
  scenario s(R"(
{"type":"hello","agents":["ada","bob","cy"]}
{"type":"event","event":{"id":"e1","recipients":["ada","bob"]}}
{"type":"event","event":{"id":"e2","recipients":["bob"]}}
{"type":"activation_started","activation":"v1","agent":"ada","inputs":["e1"]}
{"type":"activation_started","activation":"v2","agent":"bob","inputs":["e1","e2"]}
{"type":"event","event":{"id":"e3","source":"v2","recipients":["cy"]}})");
  CHECK(s.told() == strings{});
  s.then(R"(
{"type":"activation_ended","activation":"v1"}
{"type":"activation_ended","activation":"v2","outputs":[{"id":"e4","recipients":["cy"]}]})");
  CHECK(s.told() == strings{"repeated_subproblem e4 [e1] inject"});
}

TEST_CASE("RSP: kinds limit which outputs are judged") {
  const auto with = [](const std::string& kinds, const std::string& kind) {
    firing f = both;
    f.options = R"("kinds":)" + kinds;
    f.last = R"({"type":"activation_ended","activation":"v3","outputs":[{"id":"e5","recipients":["cy"])" + kind + "}]}";
    return play(f).detections.size();
  };
  CHECK(with(R"(["solution"])", R"(,"kind":"solution")") == 1);
  CHECK(with(R"(["solution"])", R"(,"kind":"vote")") == 0);
  CHECK(with(R"(["solution"])", "") == 0);
  CHECK(with("[]", "") == 1);
}

TEST_CASE("RSP: modes and causes") { check_causes(both); }

TEST_CASE("RSP: a text of one's own, with the rule's placeholders") {
  check_text_override(both, "{event}|{agent}|{work}|{earlier}", R"("e5"|"bob"|"e2"|"ada")");
}

TEST_CASE("RSP: of many who answered before eight are named and the others counted, each once") {
  scenario s(R"({"type":"hello","rules":{"repeated_subproblem":{"text":"{earlier}"}}})");
  s.then(R"({"type":"event","event":{"id":"e1","recipients":)" + numbered("p", 13) + "}}");
  const auto answer = [&](int i, const std::string& v, const std::string& outputs) {
    s.then(R"({"type":"activation_started","agent":"p)" + std::to_string(i) + R"(","inputs":["e1"],"activation":")" +
           v + R"("})");
    s.then(R"({"type":"activation_ended","activation":")" + v + "\"" + outputs + "}");
  };
  for (int i = 0; i < 12; ++i) answer(i, "v" + std::to_string(i), "");
  answer(0, "again", "");
  answer(12, "w", R"(,"outputs":[{"id":"e2","recipients":["cy"]}])");
  CHECK(told(s.only()) == "repeated_subproblem e2 [e1] inject");
  CHECK(injected(s) == R"("p0", "p1", "p2", "p3", "p4", "p5", "p6", "p7" and 4 more)");
}

TEST_CASE("RSP: long lists are cut, in the text and in the evidence, and say so") {
  scenario s(R"({"type":"hello","agents":["ada","bob"]})");
  std::string inputs;
  for (int i = 0; i < 1002; ++i) {
    const std::string id = "\"e" + std::to_string(1000 + i) + '"';
    s.then(R"({"type":"event","event":{"recipients":["ada","bob"],"id":)" + id + "}}");
    inputs += (i > 0 ? "," : "") + id;
  }
  s.then(R"({"type":"activation_started","activation":"v1","agent":"ada","inputs":[)" + inputs + "]}");
  s.then(R"({"type":"activation_ended","activation":"v1"})");
  s.then(R"({"type":"activation_started","activation":"v2","agent":"bob","inputs":[)" + inputs + "]}");
  s.then(R"({"type":"activation_ended","activation":"v2","outputs":[{"id":"x","recipients":["ada"]}]})");
  const detection& d = s.only();
  CHECK(d.evidence_total == 1002);
  REQUIRE(d.evidence.size() == 64);
  CHECK(d.evidence.back() == "e1063");
  CHECK(d.reason.ends_with(R"("e1007" and 994 more.)"));
  CHECK(d.witness.truncated);
  CHECK(d.witness.events.size() + d.witness.activations.size() == 64);
}

TEST_CASE("RSP: names chosen by agents are quoted as data") {
  const std::string a = json_string(hostile('a')), b = json_string(hostile('b')), e = json_string(hostile('e'));
  scenario s(R"({"type":"hello"})");
  s.then(R"({"type":"event","event":{"id":)" + e + R"(,"recipients":[)" + a + "," + b + "]}}");
  s.then(R"({"type":"activation_started","activation":"v1","agent":)" + a + R"(,"inputs":[)" + e + "]}");
  s.then(R"({"type":"activation_ended","activation":"v1"})");
  s.then(R"({"type":"activation_started","activation":"v2","agent":)" + b + R"(,"inputs":[)" + e + "]}");
  s.then(R"({"type":"activation_ended","activation":"v2","outputs":[{"id":"x","recipients":["cy"]}]})");
  CHECK(s.only().reason == "The output \"x\" of agent " + hostile_quoted('b') + " answers work that " +
                               hostile_quoted('a') + " answered already: " + hostile_quoted('e') + ".");
  CHECK(s.verdict_on("x").inject.starts_with("The event \"x\" of agent " + hostile_quoted('b') + " answers " +
                                             hostile_quoted('e') + ", which " + hostile_quoted('a') +
                                             " already worked on."));
}

TEST_CASE("RSP: the witness shows the work, who consumed it before and the result") {
  const scenario s = play(both);
  CHECK(nodes(s.only().witness) == "e2 e5 | v2 v3");
  CHECK(edges(s.only().witness) == strings{"e2 > v2 consume", "e2 > v3 consume", "v3 > e5"});
  CHECK(connected(s.only().witness));
}

TEST_CASE("RSP: cleared when the repeated result is dealt with") {
  scenario s = play(both);
  s.then(R"(
{"type":"activation_started","activation":"v4","agent":"cy","inputs":["e5"]}
{"type":"activation_ended","activation":"v4","ts":20})");
  CHECK(s.became() == strings{"repeated_subproblem e5 cleared at 20"});
}

TEST_CASE("RSP: recurred when the same work is answered again, unresolved if the run ends before") {
  scenario s(R"(
{"type":"hello","agents":["ada","bob","cy","dee"]}
{"type":"event","event":{"id":"e1","recipients":["ada","bob","cy"]}}
{"type":"activation_started","activation":"v1","agent":"ada","inputs":["e1"]}
{"type":"activation_ended","activation":"v1"}
{"type":"activation_started","activation":"v2","agent":"bob","inputs":["e1"]}
{"type":"activation_ended","activation":"v2","outputs":[{"id":"e2","recipients":["dee"]}],"ts":5}
{"type":"activation_started","activation":"v3","agent":"cy","inputs":["e1"]}
{"type":"activation_ended","activation":"v3","outputs":[{"id":"e3","recipients":["dee"]}],"ts":6})");
  CHECK(s.became() == strings{"repeated_subproblem e2 recurred at 6"});
  s.then(R"({"type":"run_ended","outcome":"aborted","ts":9})");
  CHECK(s.became() == strings{"repeated_subproblem e2 recurred at 6", "repeated_subproblem e3 unresolved at 9"});
}

TEST_CASE("RSP: two repeated results of one message are two findings, not a relapse") {
  scenario s(R"(
{"type":"hello","agents":["ada","bob","cy"]}
{"type":"event","event":{"id":"e1","recipients":["ada","bob"]}}
{"type":"event","event":{"id":"e2","recipients":["ada","bob"]}}
{"type":"activation_started","activation":"v1","agent":"ada","inputs":["e1","e2"]}
{"type":"activation_ended","activation":"v1"}
{"type":"activation_started","activation":"v2","agent":"bob","inputs":["e1","e2"]}
{"type":"activation_ended","activation":"v2","outputs":[{"id":"e3","recipients":["cy"]},{"id":"e4","recipients":["cy"]}]})");
  CHECK(s.told() == strings{"repeated_subproblem e3 [e1, e2] inject", "repeated_subproblem e4 [e1, e2] inject"});
  CHECK(s.became() == strings{});
}
