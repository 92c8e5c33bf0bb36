// Excessive rerouting (ER): an event is rerouted again and again, and nobody consumes it.
#include <catch2/catch.hpp>

#include "tests/rules/firing.h"

using namespace digd;
using namespace digd::tests;
using strings = std::vector<std::string>;

namespace {

const firing reroute_circle{
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

// p0, p1, … reroute e1 in turn; each reroute is two lines.
std::string rerouted(int times) {
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

TEST_CASE("the_reroute_beyond_max_reroutes_carries_a_text_for_the_new_holder") {
  const scenario s = play(reroute_circle);
  const detection& d = s.only();
  CHECK(summary(d) == "excessive_rerouting e1 [] inject");
  CHECK(d.severity == severity::warning);
  CHECK(d.at == 7u);
  CHECK(d.ts == 7);
  CHECK(d.evidence_total == 0);
  CHECK(d.reason == R"(The event "e1" was rerouted 3 times and nobody has consumed it.)");
  CHECK(s.verdict_on("e1").action == action::inject);
  CHECK(s.verdict_on("e1").recipients.empty());
  CHECK(s.verdict_on("e1").inject ==
        R"(The event "e1" was already passed on 3 times, by "ada", "bob", "cy", and nobody has handled it. Do not )"
        R"(pass it on again: handle it now as well as you can, even if only to say why it cannot be done.)");
  CHECK(s.reachable() == strings{"e1"});
}

TEST_CASE("a_single_reroute_is_written_in_the_singular") {
  scenario s(R"(
{"type":"hello","rules":{"excessive_rerouting":{"max_reroutes":0}}}
{"type":"event","event":{"id":"e1","recipients":["ada"]}}
{"type":"activation_started","activation":"v1","agent":"ada","inputs":["e1"]}
{"type":"activation_ended","activation":"v1","reactions":{"e1":{"reroute":["bob"]}}})");
  CHECK(s.only().reason == R"(The event "e1" was rerouted 1 time and nobody has consumed it.)");
}

TEST_CASE("excessive_rerouting_ignores_near_misses") {
  const auto detections_after = [](const std::string& hello, const std::string& lines) {
    scenario s(R"({"type":"hello",)" + hello + "}\n" +
               R"({"type":"event","event":{"id":"e1","recipients":["p0","q"]}})");
    return s.then(lines).detection_summaries();
  };
  const std::string two_reroutes = R"("rules":{"excessive_rerouting":{"max_reroutes":2}})";
  CHECK(detections_after(two_reroutes, rerouted(2)) == strings{});
  CHECK(detections_after(two_reroutes, rerouted(3)) == strings{"excessive_rerouting e1 [] inject"});
  CHECK(detections_after(R"("labels":{})", rerouted(2)) == strings{});  // the default is 2
  CHECK(detections_after(R"("labels":{})", rerouted(3)).size() == 1);
  // Another agent has consumed it in the meantime.
  CHECK(detections_after(two_reroutes, R"(
{"type":"activation_started","activation":"w","agent":"q","inputs":["e1"]}
{"type":"activation_ended","activation":"w"})"
                                       "\n" +
                                           rerouted(3)) == strings{});
  // A failed activation consumes nothing, and discarding is not consuming.
  CHECK(detections_after(two_reroutes, R"(
{"type":"activation_started","activation":"w","agent":"q","inputs":["e1"]}
{"type":"activation_ended","activation":"w","failed":true})"
                                       "\n" +
                                           rerouted(3))
            .size() == 1);
  CHECK(detections_after(two_reroutes, R"(
{"type":"activation_started","activation":"w","agent":"q","inputs":["e1"]}
{"type":"activation_ended","activation":"w","reactions":{"e1":"discard"}})"
                                       "\n" +
                                           rerouted(3))
            .size() == 1);
  // A reroute to three agents is one reroute act.
  CHECK(detections_after(two_reroutes, R"(
{"type":"activation_started","activation":"w","agent":"q","inputs":["e1"]}
{"type":"activation_ended","activation":"w","reactions":{"e1":{"reroute":["x","y","z"]}}})"
                                       "\n" +
                                           rerouted(1)) == strings{});
  // An fyi event may be rerouted without limit.
  scenario fyi_event(R"({"type":"hello"})"
                     "\n"
                     R"({"type":"event","event":{"id":"e1","recipients":["p0"],"fyi":true}})");
  CHECK(fyi_event.then(rerouted(9)).detection_summaries() == strings{});
}

TEST_CASE("a_give_back_is_not_a_reroute_act_but_a_reroute_to_no_agent_is_one") {
  scenario s(R"(
{"type":"hello","agents":["ada","bob"],"rules":{"excessive_rerouting":{"max_reroutes":1}}}
{"type":"activation_started","activation":"v0","agent":"ada"}
{"type":"event","event":{"id":"e1","source":"v0","recipients":["zed"]}}
{"type":"activation_started","activation":"v1","agent":"ada","inputs":["e1"]}
{"type":"activation_ended","activation":"v1","reactions":{"e1":{"reroute":[]}}})");
  CHECK(s.detection_summaries() == strings{"orphaned_event e1 [zed] reroute", "orphaned_event e1 [] reroute"});
  s.then(R"(
{"type":"activation_started","activation":"v2","agent":"ada","inputs":["e1"]}
{"type":"activation_ended","activation":"v2","reactions":{"e1":{"reroute":["bob"]}}})");
  CHECK(s.detection_summaries().back() == "excessive_rerouting e1 [] inject");
}

TEST_CASE("the_cost_of_a_reroute_does_not_grow_with_the_earlier_ones") {
  // Each activation that passes the event on has many more inputs, which come before it.
  scenario s(R"({"type":"hello","limits":{"judging_work":1000000000}})");
  s.then(R"({"type":"event","event":{"id":"e1","recipients":["p0"]}})");
  std::string inputs;
  for (int i = 0; i < 1'000; ++i) inputs += "\"x" + std::to_string(i) + "\",";
  std::uint64_t max_visited = 0;
  for (int i = 0; i < 20; ++i) {
    const std::string n = std::to_string(i), next = std::to_string(i + 1);
    s.then(R"({"type":"activation_started","activation":"v)" + n + R"(","agent":"p)" + n + R"(","inputs":[)" + inputs +
           R"("e1"]})");
    const std::uint64_t before = s.graph().counters().visited;
    s.then(R"({"type":"activation_ended","activation":"v)" + n + R"(","reactions":{"e1":{"reroute":["p)" + next +
           R"("]}}})");
    max_visited = std::max(max_visited, s.graph().counters().visited - before);
  }
  CHECK(s.errors.empty());
  CHECK(max_visited <= 25'000);
  CHECK(injected(s).find(R"(20 times, by "p0", "p1", "p2", "p3" and others, and)") != std::string::npos);
}

TEST_CASE("a_passer_among_very_many_inputs_is_not_searched_for") {
  scenario s(R"({"type":"hello","rules":{"excessive_rerouting":{"max_reroutes":0}}})");
  s.then(R"({"type":"event","event":{"id":"e1","recipients":["ada"]}})");
  std::string inputs;
  for (int i = 0; i < 5'000; ++i) inputs += "\"x" + std::to_string(i) + "\",";
  s.then(R"({"type":"activation_started","activation":"v1","agent":"ada","inputs":[)" + inputs + R"("e1"]})");
  s.then(R"({"type":"activation_ended","activation":"v1","reactions":{"e1":{"reroute":["bob"]}}})");
  CHECK(injected(s).find("1 time, by several agents, and") != std::string::npos);
}

TEST_CASE("excessive_rerouting_follows_modes_and_reports_causes") { check_causes(reroute_circle); }

TEST_CASE("excessive_rerouting_is_limited_by_the_budget_alone_and_not_by_attempts") {
  scenario s(R"({"type":"hello","healing":{"budget":2}})");
  s.then(R"({"type":"event","event":{"id":"e1","recipients":["p0"]}})").then(rerouted(5));
  CHECK(s.detection_summaries() == strings{"excessive_rerouting e1 [] inject", "excessive_rerouting e1 [] inject",
                                           "excessive_rerouting e1 [] not healed: budget"});
}

TEST_CASE("a_configured_text_for_excessive_rerouting_may_use_all_its_placeholders") {
  check_text_override(reroute_circle, "{event}/{times}/{passers}", R"("e1"/3 times/"ada", "bob", "cy")");
}

TEST_CASE("the_text_names_each_rerouting_agent_once_in_the_order_of_their_first_reroute") {
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

TEST_CASE("of_many_rerouting_agents_the_text_names_eight_and_counts_the_others") {
  scenario s(R"({"type":"hello","rules":{"excessive_rerouting":{"max_reroutes":11,"text":"{passers}"}}})");
  s.then(R"({"type":"event","event":{"id":"e1","recipients":["p0"]}})").then(rerouted(12));
  CHECK(injected(s) == R"("p0", "p1", "p2", "p3", "p4", "p5", "p6", "p7" and 4 more)");
}

TEST_CASE("excessive_rerouting_quotes_names_chosen_by_agents_as_data") {
  const std::string e = json_string(hostile('e')), a = json_string(hostile('a'));
  scenario s(R"({"type":"hello","rules":{"excessive_rerouting":{"max_reroutes":0}}})");
  s.then(R"({"type":"event","event":{"recipients":["ada"],"id":)" + e + "}}");
  s.then(R"({"type":"activation_started","activation":"v1","agent":)" + a + R"(,"inputs":[)" + e + "]}");
  s.then(R"({"type":"activation_ended","activation":"v1","reactions":{)" + e + R"(:{"reroute":["bob"]}}})");
  CHECK(s.only().reason == "The event " + hostile_quoted('e') + " was rerouted 1 time and nobody has consumed it.");
  CHECK(injected(s).starts_with("The event " + hostile_quoted('e') + " was already passed on 1 time, by " +
                                hostile_quoted('a') + ", and"));
}

TEST_CASE("the_witness_of_excessive_rerouting_shows_who_rerouted_the_event_and_who_has_it_now") {
  const scenario s = play(reroute_circle);
  CHECK(nodes(s.only().witness) == "e1 | v1 v2 v3");
  CHECK(edges(s.only().witness) == strings{"e1 .. ada", "e1 > v1 reroute", "e1 > v2 reroute", "e1 > v3 reroute"});
  CHECK(connected(s.only().witness));

  scenario many(R"({"type":"hello","rules":{"excessive_rerouting":{"max_reroutes":79}}})");
  many.then(R"({"type":"event","event":{"id":"e1","recipients":["p0"]}})").then(rerouted(80));
  CHECK(many.only().witness.events.size() + many.only().witness.activations.size() == 64);
  CHECK(many.only().witness.truncated);
}

TEST_CASE("excessive_rerouting_is_cleared_when_the_event_is_consumed") {
  scenario s = play(reroute_circle);
  s.then(R"(
{"type":"activation_started","activation":"v4","agent":"ada","inputs":["e1"]}
{"type":"activation_ended","activation":"v4","ts":20})");
  CHECK(s.outcome_summaries() == strings{"excessive_rerouting e1 cleared at 20"});
}

TEST_CASE("excessive_rerouting_recurs_with_the_next_reroute_and_is_unresolved_when_the_event_is_discarded") {
  scenario s = play(reroute_circle);
  s.then(R"(
{"type":"activation_started","activation":"v4","agent":"ada","inputs":["e1"]}
{"type":"activation_ended","activation":"v4","reactions":{"e1":{"reroute":["bob"]}},"ts":20})");
  CHECK(s.outcome_summaries() == strings{"excessive_rerouting e1 recurred at 20"});
  s.then(R"(
{"type":"activation_started","activation":"v5","agent":"bob","inputs":["e1"]}
{"type":"activation_ended","activation":"v5","reactions":{"e1":"discard"},"ts":30}
{"type":"run_ended","outcome":"success","ts":31})");
  CHECK(s.outcome_summaries().back() == "excessive_rerouting e1 unresolved at 31");
}
