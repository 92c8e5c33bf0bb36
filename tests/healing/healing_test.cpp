// Whether a detection is healed, and what a healing uses up (docs/rules.md, "What healing may cost").
#include <catch2/catch.hpp>

#include "tests/engine/scenario.h"

using namespace digd;
using namespace digd::tests;
using strings = std::vector<std::string>;

TEST_CASE("the_first_cause_that_applies_is_reported_in_the_order_mode_as_is_unsupported_target_attempts_budget") {
  // Every cause against giving e1 back applies at first; the test then removes one after the other.
  struct causes {
    bool mode = true, as_is = true, unsupported = true, target = true, attempts = true, budget = true;
  };
  const auto summary_with = [](const causes& o) {
    scenario s(std::string(R"({"type":"hello","agents":["ada"],"mode":")") + (o.mode ? "observe" : "enforce") +
               R"(","capabilities":{"reroute":)" + (o.unsupported ? "false" : "true") + R"(},"healing":{"budget":)" +
               (o.budget ? "0" : "1") + R"(},"rules":{"orphaned_event":{"max_attempts":)" + (o.attempts ? "0" : "1") +
               "}}}");
    s.then(R"({"type":"activation_started","activation":"v1","agent":"ada"})");
    if (o.target) s.then(R"({"type":"agent_left","agent":"ada"})");
    s.then(std::string(R"({"type":"event","as_is":)") + (o.as_is ? "true" : "false") +
           R"(,"event":{"id":"e1","source":"v1","recipients":["zed"]}})");
    return s.detection_summaries().at(0);
  };
  causes applying;
  const std::string begin = "orphaned_event e1 [zed] ";
  CHECK(summary_with(applying) == begin + "not healed: mode");
  applying.mode = false;
  CHECK(summary_with(applying) == begin + "not healed: as_is");
  applying.as_is = false;
  CHECK(summary_with(applying) == begin + "not healed: unsupported");
  applying.unsupported = false;
  CHECK(summary_with(applying) == begin + "not healed: target");
  applying.target = false;
  CHECK(summary_with(applying) == begin + "not healed: attempts");
  applying.attempts = false;
  CHECK(summary_with(applying) == begin + "not healed: budget");
  applying.budget = false;
  CHECK(summary_with(applying) == begin + "reroute");
}

TEST_CASE("the_weaker_of_the_modes_of_the_run_and_the_rule_applies") {
  const auto result_with = [](const std::string& run, const std::string& rule) -> std::string {
    scenario s(R"({"type":"hello","agents":["ada"],"mode":")" + run + R"(","rules":{"orphaned_event":{"mode":")" +
               rule + "\"}}}");
    s.then(R"({"type":"activation_started","activation":"v1","agent":"ada"}
{"type":"event","event":{"id":"e1","source":"v1","recipients":["zed"]}})");
    return s.detections.empty() ? "nothing" : s.detection_summaries().at(0).substr(24);
  };
  const std::string nothing = "nothing", observed = "not healed: mode", shadowed = "not healed: mode, would reroute",
                    healed = "reroute";
  const char* modes[] = {"off", "observe", "shadow", "enforce"};
  const std::string expected[] = {nothing, observed, shadowed, healed};
  for (int run = 0; run < 4; ++run) {
    for (int rule = 0; rule < 4; ++rule) {
      INFO(modes[run] << ' ' << modes[rule]);
      CHECK(result_with(modes[run], modes[rule]) == expected[std::min(run, rule)]);
    }
  }
}

TEST_CASE("shadow_uses_up_neither_attempts_nor_the_budget") {
  scenario s(R"(
{"type":"hello","agents":["ada"],"mode":"shadow","healing":{"budget":1},"rules":{"orphaned_event":{"max_attempts":1}}}
{"type":"activation_started","activation":"v1","agent":"ada"}
{"type":"event","event":{"id":"e1","source":"v1","recipients":["zed"]}}
{"type":"event","event":{"id":"e2","source":"v1","recipients":["zed"]}})");
  CHECK(s.detection_summaries() == strings{"orphaned_event e1 [zed] not healed: mode, would reroute",
                                           "orphaned_event e2 [zed] not healed: mode, would reroute"});
  CHECK(s.run().healing().budget_used() == 0);
}

TEST_CASE("a_verdict_needs_a_capability_of_its_own_session_and_a_window_of_any_session") {
  scenario s(R"(
{"type":"hello","session":"a","agents":["ada"],"capabilities":{"reroute":false,"create":false}}
{"type":"hello","session":"b","agents":["bob"],"capabilities":{"create":true}}
{"type":"activation_started","session":"a","activation":"v1","agent":"ada"}
{"type":"event","session":"a","event":{"id":"e1","source":"v1","recipients":["zed"]}}
{"type":"event","session":"b","event":{"id":"e2","source":"v1","recipients":["zed"]}}
{"type":"activation_ended","session":"a","activation":"v1"}
{"type":"time","session":"a","ts":10000})");
  CHECK(s.detection_summaries() == strings{"orphaned_event e1 [zed] not healed: unsupported",
                                           "orphaned_event e2 [zed] reroute", "deadlock [e2] create"});
  CHECK(s.detections[0].session == "a");
  CHECK(s.detections[1].session == "b");
  CHECK(s.detections[2].session == std::nullopt);
}

TEST_CASE("each_blocked_event_and_each_window_that_is_healed_uses_one_of_the_budget") {
  // e1 is an orphan and rerouted too often: two detections, one healed event.
  scenario s(R"(
{"type":"hello","agents":["ada"],"healing":{"budget":2},"rules":{)"
             R"("excessive_rerouting":{"max_reroutes":0},"deadlock":{"window_ms":10}}}
{"type":"activation_started","activation":"v0","agent":"ada"}
{"type":"event","event":{"id":"e1","source":"v0","recipients":["ada"]}}
{"type":"activation_started","activation":"v1","agent":"ada","inputs":["e1"]}
{"type":"activation_ended","activation":"v1","reactions":{"e1":{"reroute":["zed"]}}})");
  CHECK(s.detection_summaries() == strings{"orphaned_event e1 [zed] reroute", "excessive_rerouting e1 [] inject"});
  CHECK(s.run().healing().budget_used() == 1);
  s.then(R"({"type":"activation_ended","activation":"v0"})"
         "\n"
         R"({"type":"time","ts":10})");
  CHECK(s.detection_summaries().back() == "deadlock [e1] create");
  CHECK(s.run().healing().budget_used() == 2);
  s.then(R"({"type":"time","ts":20})");
  CHECK(s.detection_summaries().back() == "deadlock [e1] not healed: budget");
}

TEST_CASE("of_two_detections_on_one_event_one_may_be_healed_and_the_other_not") {
  scenario s(R"(
{"type":"hello","agents":["ada"],"rules":{"excessive_rerouting":{"max_reroutes":0,"mode":"shadow"}}}
{"type":"activation_started","activation":"v0","agent":"ada"}
{"type":"event","event":{"id":"e1","source":"v0","recipients":["ada"]}}
{"type":"activation_started","activation":"v1","agent":"ada","inputs":["e1"]}
{"type":"activation_ended","activation":"v1","reactions":{"e1":{"reroute":["zed"]}}})");
  CHECK(s.detection_summaries() ==
        strings{"orphaned_event e1 [zed] reroute", "excessive_rerouting e1 [] not healed: mode, would inject"});
  CHECK(s.verdict_on("e1").detections.size() == 2);
  CHECK(s.verdict_on("e1").inject.find("was already passed on") == std::string::npos);
}

TEST_CASE("texts_are_joined_in_the_order_of_the_rules") {
  scenario s(R"(
{"type":"hello","agents":["ada"],"rules":{)"
             R"("excessive_rerouting":{"max_reroutes":0,"text":"second"},"orphaned_event":{"text":"first"}}}
{"type":"activation_started","activation":"v0","agent":"ada"}
{"type":"event","event":{"id":"e1","source":"v0","recipients":["ada"]}}
{"type":"activation_started","activation":"v1","agent":"ada","inputs":["e1"]}
{"type":"activation_ended","activation":"v1","reactions":{"e1":{"reroute":["zed"]}}})");
  CHECK(s.verdict_on("e1").action == action::reroute);
  CHECK(s.verdict_on("e1").recipients == strings{"ada"});
  CHECK(s.verdict_on("e1").inject == "first\n\nsecond");
}

TEST_CASE("without_the_capability_to_inject_an_event_is_given_back_without_a_text") {
  scenario s(R"(
{"type":"hello","agents":["ada"],"capabilities":{"inject":false},"rules":{)"
             R"("excessive_rerouting":{"max_reroutes":0},"orphaned_event":{"window_ms":10}}}
{"type":"activation_started","activation":"v0","agent":"ada"}
{"type":"event","event":{"id":"e1","source":"v0","recipients":["ada"]}}
{"type":"activation_started","activation":"v1","agent":"ada","inputs":["e1"]}
{"type":"activation_ended","activation":"v1","reactions":{"e1":{"reroute":["zed"]}}})");
  CHECK(s.detection_summaries() ==
        strings{"orphaned_event e1 [zed] reroute", "excessive_rerouting e1 [] not healed: unsupported"});
  CHECK(s.verdict_on("e1").inject.empty());
  CHECK(s.frames.back().find("\"inject\":\"") == std::string::npos);
  // A system event consists of its text, so it needs no capability to inject.
  scenario window(R"(
{"type":"hello","agents":["ada"],"capabilities":{"inject":false}}
{"type":"event","event":{"id":"e1","recipients":["ada"]}}
{"type":"time","ts":10000})");
  CHECK(window.detection_summaries() == strings{"deadlock [e1] create"});
  CHECK_FALSE(window.interventions.at(0).inject.empty());
}

TEST_CASE("a_system_event_is_no_work_never_an_orphan_and_settles_when_it_is_consumed") {
  scenario s(R"(
{"type":"hello","agents":["ada","bob"],"rules":{)"
             R"("missing_termination":{"window_ms":10,"max_attempts":1},"orphaned_event":{"window_ms":10}}}
{"type":"activation_started","activation":"v1","agent":"ada"}
{"type":"activation_ended","activation":"v1"}
{"type":"time","ts":10})");
  CHECK(s.interventions.at(0).id == "sys:1");
  s.then(R"(
{"type":"activation_started","activation":"v2","agent":"ada","inputs":["sys:1"]}
{"type":"activation_ended","activation":"v2","reactions":{"sys:1":"discard"}}
{"type":"activation_started","activation":"v3","agent":"bob"}
{"type":"time","ts":100})");
  CHECK(s.graph().event(s.graph().find_event("sys:1")).settled);
  CHECK(s.detections.size() == 1);
}

TEST_CASE("beyond_64_watched_healings_the_oldest_is_reported_unresolved") {
  scenario s(R"(
{"type":"hello","agents":["ada"],"healing":{"max_returns_per_agent":65}}
{"type":"activation_started","activation":"v1","agent":"ada"})");
  for (int i = 0; i < 65; ++i) {
    s.then(R"({"type":"event","event":{"source":"v1","recipients":["zed"],"id":"e)" + std::to_string(i) + R"("}})");
  }
  CHECK(s.outcome_summaries() == strings{"orphaned_event e0 unresolved at 0"});
}
