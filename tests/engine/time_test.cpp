// Effects of time: stalls, windows, gaps, and the run's clock (docs/rules.md).
#include <catch2/catch.hpp>

#include "tests/engine/scenario.h"

using namespace digd;
using namespace digd::tests;
using strings = std::vector<std::string>;

namespace {

bool event_settled(const scenario& s, const char* id) { return s.graph().event(s.graph().find_event(id)).settled; }

}  // namespace

TEST_CASE("an_activation_stalls_after_stalled_ms_without_an_output_and_an_output_revives_it") {
  scenario s(R"(
{"type":"hello","limits":{"stalled_ms":100},"mode":"off"}
{"type":"activation_started","activation":"v1","agent":"ada","ts":10}
{"type":"time","ts":109})");
  CHECK(s.graph().active_count() == 1);
  s.then(R"({"type":"time","ts":110})");
  CHECK(s.graph().active_count() == 0);
  CHECK(s.graph().open_count() == 1);
  s.then(R"({"type":"event","event":{"id":"e1","source":"v1","recipients":["bob"]},"ts":150})");
  CHECK(s.graph().active_count() == 1);
  s.then(R"({"type":"time","ts":249})");
  CHECK(s.graph().active_count() == 1);
  s.then(R"({"type":"time","ts":250})");
  CHECK(s.graph().active_count() == 0);
  s.then(R"({"type":"activation_ended","activation":"v1","outputs":[{"id":"e2","recipients":["bob"]}]})");
  CHECK(s.errors.empty());
  CHECK(s.graph().active_count() == 0);
  CHECK(s.graph().open_count() == 0);
}

TEST_CASE("only_outputs_keep_an_activation_active") {
  scenario s(R"(
{"type":"hello","limits":{"stalled_ms":100},"mode":"off"}
{"type":"activation_started","activation":"v1","agent":"ada"}
{"type":"event","event":{"id":"e1","recipients":["ada"]},"ts":90}
{"type":"activation_started","activation":"v2","agent":"ada","ts":95}
{"type":"time","ts":100})");
  CHECK(s.graph().active_count() == 1);
}

TEST_CASE("activations_of_an_agent_that_leaves_stall_at_once_and_an_output_revives_them") {
  scenario s(R"(
{"type":"hello","mode":"off"}
{"type":"activation_started","activation":"v1","agent":"ada"}
{"type":"activation_started","activation":"v2","agent":"bob"}
{"type":"agent_left","agent":"ada"})");
  CHECK(s.graph().active_count() == 1);
  s.then(R"({"type":"event","event":{"id":"e1","source":"v1","recipients":["bob"]}})");
  CHECK(s.graph().active_count() == 2);
}

TEST_CASE("a_gap_makes_deliveries_unknown_stalls_open_activations_and_forgets_ended_ones") {
  scenario s(R"(
{"type":"hello","agents":["ada","bob"],"rules":{)"
             R"("missing_termination":{"window_ms":10},"orphaned_event":{"window_ms":10}}}
{"type":"event","event":{"id":"e1","recipients":["ada","bob"]}}
{"type":"activation_started","activation":"v1","agent":"ada","inputs":["e1"]}
{"type":"activation_started","activation":"v2","agent":"bob"}
{"type":"activation_ended","activation":"v2"}
{"type":"gap","dropped":7}
{"type":"time","ts":1000})");
  CHECK(s.detection_summaries() == strings{});
  CHECK(s.reachable() == strings{});
  CHECK(s.graph().active_count() == 0);
  const graph::delivery* d = s.graph().find_delivery(s.graph().find_event("e1"), s.graph().find_agent("bob"));
  REQUIRE(d != nullptr);
  CHECK(d->state == graph::delivery_state::unknown);
  // An event named again as an input is pending again, but never an orphan.
  s.then(R"(
{"type":"activation_started","activation":"v3","agent":"ada","inputs":["e1"]}
{"type":"activation_ended","activation":"v3","reactions":{"e1":"discard"}}
{"type":"activation_ended","activation":"v1","reactions":{"e1":"discard"}}
{"type":"time","ts":1009})");
  CHECK(s.detection_summaries() == strings{});
  s.then(R"({"type":"time","ts":1010})");
  CHECK(s.detection_summaries() == strings{"missing_termination @ada [] create"});
}

TEST_CASE("window_detections_have_the_time_of_the_window_and_later_ones_that_of_their_message") {
  scenario s(R"(
{"type":"hello","agents":["ada","bob"],"rules":{"deadlock":{"window_ms":10,"max_attempts":1}}}
{"type":"event","event":{"id":"e1","recipients":["ada"]},"ts":100}
{"type":"event","event":{"id":"e2","recipients":["zed"]},"ts":500})");
  CHECK(s.detection_summaries() == strings{"deadlock [e1] create", "deadlock [e1] not healed: attempts",
                                           "orphaned_event e2 [zed] not healed: target"});
  CHECK(s.detections[0].ts == 110);
  CHECK(s.detections[1].ts == 120);
  CHECK(s.detections[2].ts == 500);
  CHECK(s.run().clock() == 500);
}

TEST_CASE("windows_of_the_same_time_fire_after_stalls_in_the_order_termination_then_orphans_by_id") {
  scenario s(R"(
{"type":"hello","agents":["ada"],"limits":{"stalled_ms":10},"rules":{)"
             R"("orphaned_event":{"window_ms":10},"missing_termination":{"window_ms":0}}}
{"type":"event","event":{"id":"e3","recipients":["bob"],"fyi":true}}
{"type":"agent_joined","agent":"bob"}
{"type":"event","event":{"id":"b","recipients":["bob"]}}
{"type":"event","event":{"id":"c","recipients":["bob"]}}
{"type":"event","event":{"id":"a","recipients":["bob"]}}
{"type":"activation_started","activation":"v0","agent":"ada"}
{"type":"activation_ended","activation":"v0"}
{"type":"activation_started","activation":"v1","agent":"ada"}
{"type":"agent_left","agent":"bob"}
{"type":"time","ts":10})");
  CHECK(s.detection_summaries() ==
        strings{"missing_termination @ada [] create", "missing_termination @ada [] create",
                "missing_termination @ada [] create", "missing_termination @ada [] not healed: attempts",
                "orphaned_event a [bob] not healed: target", "orphaned_event b [bob] not healed: target",
                "orphaned_event c [bob] not healed: target"});
  for (const detection& d : s.detections) CHECK(d.ts == 10);
}

TEST_CASE("deadlock_fires_after_stalls_and_before_orphans_of_the_same_time") {
  scenario s(R"(
{"type":"hello","agents":["ada","bob"],"limits":{"stalled_ms":10},"rules":{)"
             R"("orphaned_event":{"window_ms":10},"deadlock":{"window_ms":0,"max_attempts":1}}}
{"type":"activation_started","activation":"v1","agent":"ada"}
{"type":"event","event":{"id":"e1","source":"v1","recipients":["bob"]}}
{"type":"event","event":{"id":"e2","source":"v1","recipients":["ada"]}}
{"type":"agent_left","agent":"bob"}
{"type":"time","ts":10})");
  CHECK(s.detection_summaries() ==
        strings{"deadlock [e2] create", "deadlock [e2] not healed: attempts", "orphaned_event e1 [bob] reroute"});
}

TEST_CASE("the_clock_never_goes_back_and_stands_still_without_a_ts") {
  scenario s(R"(
{"type":"hello"}
{"type":"time","ts":100}
{"type":"time","ts":50}
{"type":"time"})");
  CHECK(s.run().clock() == 100);
  CHECK(s.errors.empty());
}

TEST_CASE("a_refused_message_moves_no_clock_and_fires_no_window") {
  scenario s(R"(
{"type":"hello","agents":["ada"]}
{"type":"event","event":{"id":"e1","recipients":["ada"]}}
{"type":"activation_ended","activation":"nothing","ts":50000})");
  CHECK(s.errors.size() == 1);
  CHECK(s.detection_summaries() == strings{});
  CHECK(s.run().clock() == 0);
}

TEST_CASE("in_a_stamped_trace_windows_due_before_a_refused_message_fire") {
  scenario s(R"(
{"type":"hello","agents":["ada"],"stamped":true}
{"type":"event","event":{"id":"e1","recipients":["ada"]}}
{"type":"activation_ended","activation":"nothing","ts":10001})");
  CHECK(s.errors.size() == 1);
  CHECK(s.detection_summaries() == strings{"deadlock [e1] create"});
}

TEST_CASE("a_window_of_the_longest_possible_time_never_fires") {
  scenario s(R"(
{"type":"hello","agents":["ada"],"rules":{"deadlock":{"window_ms":9223372036854775807}}}
{"type":"event","event":{"id":"e1","recipients":["ada"]},"ts":5}
{"type":"time","ts":9223372036854775806})");
  if (!s.problem.empty()) return;  // the decoder refuses such a window: also correct
  CHECK(s.detection_summaries() == strings{});
}

TEST_CASE("a_window_of_no_length_fires_with_the_next_message_and_not_with_its_own") {
  scenario s(R"(
{"type":"hello","agents":["ada"],"rules":{"deadlock":{"window_ms":0,"max_attempts":0}}}
{"type":"event","event":{"id":"e1","recipients":["ada"]}})");
  CHECK(s.detection_summaries() == strings{});
  s.then(R"({"type":"time"})");
  CHECK(s.detection_summaries() == strings{"deadlock [e1] not healed: attempts"});
  s.then(R"({"type":"time","ts":9})");
  CHECK(s.detections.size() == 1);
}

TEST_CASE("no_window_fires_in_a_terminal_or_an_ended_run") {
  scenario terminal(R"(
{"type":"hello","agents":["ada","bob"],"rules":{"orphaned_event":{"window_ms":10},"early_termination":{"mode":"off"}}}
{"type":"activation_started","activation":"v1","agent":"ada"}
{"type":"event","event":{"id":"e1","source":"v1","recipients":["bob"]}}
{"type":"event","event":{"id":"e2","source":"v1","recipients":["ada"]}}
{"type":"agent_left","agent":"bob"}
{"type":"activation_ended","activation":"v1","outputs":[{"id":"e9","submit":true}]})");
  CHECK(terminal.run().terminal());
  CHECK(terminal.run().next_due() == std::nullopt);
  terminal.then(R"({"type":"time","ts":1000000})"
                "\n"
                R"({"type":"event","event":{"id":"e3","recipients":["zed"]}})");
  CHECK(terminal.detection_summaries() == strings{});
  CHECK(terminal.verdict_on("e3").action == action::deliver);

  scenario ended(R"(
{"type":"hello","agents":["ada"]}
{"type":"event","event":{"id":"e1","recipients":["ada"]}}
{"type":"run_ended","outcome":"aborted"})");
  CHECK(ended.run().next_due() == std::nullopt);
}

TEST_CASE("switching_rules_off_clears_running_windows_and_reports_nothing") {
  scenario s(R"(
{"type":"hello","agents":["ada","bob"],"rules":{"orphaned_event":{"window_ms":10},"missing_termination":{"mode":"off"}}}
{"type":"activation_started","activation":"v1","agent":"ada"}
{"type":"event","event":{"id":"e1","source":"v1","recipients":["bob"]}}
{"type":"agent_left","agent":"bob"})");
  CHECK(s.run().next_due() == 10);
  s.then(R"({"type":"operator_mode","mode":"off","ts":0})");
  CHECK(s.run().next_due() == 300'000);  // when v1 stalls
  s.then(R"({"type":"time","ts":100})");
  CHECK(s.detection_summaries() == strings{});
  CHECK(event_settled(s, "e1"));
}

TEST_CASE("after_a_switch_to_observe_detections_are_not_healed_and_a_switch_to_enforce_restores_healing") {
  scenario s(R"(
{"type":"hello","agents":["ada"],"rules":{"deadlock":{"window_ms":10}}}
{"type":"event","event":{"id":"e1","recipients":["ada"]}}
{"type":"operator_mode","mode":"observe","ts":0}
{"type":"time","ts":10}
{"type":"operator_mode","mode":"enforce","ts":10}
{"type":"time","ts":100}
{"type":"event","event":{"id":"e2","recipients":["zed"]}})");
  CHECK(s.detection_summaries() ==
        strings{"deadlock [e1] not healed: mode", "orphaned_event e2 [zed] not healed: target"});
  s.then(R"(
{"type":"activation_started","activation":"v1","agent":"ada","ts":200}
{"type":"activation_ended","activation":"v1","ts":200}
{"type":"time","ts":210})");
  CHECK(s.detection_summaries().back() == "deadlock [e1] create");
}
