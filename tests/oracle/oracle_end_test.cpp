// The oracle on hand-written traces: detections that are reported because the run ended.
#include "self_test_script.h"

#include <catch2/catch.hpp>

using namespace oracle_test;
using strings = std::vector<std::string>;

namespace {

strings end_run(script& s, const std::string& more) { return s.send(R"("type":"run_ended")" + more); }

// e1 is pending at b, and no agent is active.
script stuck(const std::string& more = "") {
  script s(R"(,"agents":["a","b"])" + more);
  s.root("e1", R"(["b"])");
  return s;
}

}  // namespace

TEST_CASE("oracle_reports_conditions_that_hold_when_a_run_ends_without_an_answer") {
  for (const char* outcome : {R"(,"outcome":"failure")", "", R"(,"outcome":null)"}) {
    script s = stuck();
    REQUIRE(end_run(s, std::string(outcome) + R"(,"ts":9)") ==
            strings{R"({"d":"deadlock","at":null,"ts":9,"session":null,"event":null,"agent":null,"evidence":["e1"],)"
                    R"("total":1,"healed":false,"healing":null,"cause":"ended"})"});
    REQUIRE(refused(s.time(100), "run_closed"));
  }
}

TEST_CASE("oracle_reports_nothing_at_the_end_of_a_successful_aborted_or_answered_run") {
  for (const char* outcome : {R"(,"outcome":"success")", R"(,"outcome":"aborted")"}) {
    script s = stuck();
    REQUIRE(end_run(s, outcome).empty());
  }
  script s(R"(,"agents":["a"])");
  s.start("v1", "a", "[]");
  s.end("v1", "{}", R"([{"id":"e1","submit":true}])");
  s.root("e2", R"(["a"])");
  REQUIRE(end_run(s, R"(,"outcome":"failure")").empty());
}

TEST_CASE("oracle_refuses_an_unknown_outcome_and_the_run_continues") {
  script s = stuck();
  for (const char* outcome : {R"(,"outcome":"fine")", R"(,"outcome":3)"})
    REQUIRE(count(end_run(s, outcome), R"("code":"bad_message","field":"outcome")") == 1);
  REQUIRE(count(end_run(s, ""), R"("cause":"ended")") == 1);
}

TEST_CASE("oracle_reports_deadlock_or_missing_termination_before_orphans_at_the_end") {
  script s(R"(,"agents":["a","b"])");
  s.start("v1", "a", "[]");
  s.end("v1", "{}",
        R"([{"id":"e3","recipients":["b"]},{"id":"e1","recipients":["b"]},{"id":"e2","recipients":["a"]}])");
  s.start("v2", "b", R"(["e3","e1"])");
  s.end("v2", R"({"e3":"discard","e1":"discard"})");
  const strings stuck_end = [&] {
    script t = s;
    return end_run(t, "");
  }();
  REQUIRE(stuck_end.size() == 3);
  REQUIRE(count({stuck_end[0]}, R"("d":"deadlock")") == 1);
  REQUIRE(count({stuck_end[1]}, R"("event":"e1","agent":null,"evidence":["b"])") == 1);
  REQUIRE(count({stuck_end[2]}, R"("event":"e3","agent":null,"evidence":["b"])") == 1);
  s.start("v3", "a", R"(["e2"])");
  s.end("v3");
  const strings done_end = end_run(s, "");
  REQUIRE(done_end.size() == 3);
  REQUIRE(count({done_end[0]},
                R"("d":"missing_termination","at":null,"ts":0,"session":null,"event":null,"agent":"a")") == 1);
  REQUIRE(count(done_end, R"("healed":false,"healing":null,"cause":"ended")") == 3);
}

TEST_CASE("oracle_reports_no_deadlock_at_the_end_while_an_activation_is_active_and_not_stalled") {
  script s = stuck(R"(,"limits":{"stalled_ms":5})");
  s.start("v1", "a", "[]");
  script t = s;
  REQUIRE(end_run(s, R"(,"ts":4)").empty());
  REQUIRE(fired(end_run(t, R"(,"ts":5)"), "deadlock") == 1);
}

TEST_CASE("oracle_does_not_report_a_window_again_at_the_end_if_it_fired_unhealed") {
  script s = stuck(R"(,"mode":"observe","rules":{"deadlock":{"window_ms":5}})");
  REQUIRE(fired(s.time(5), "deadlock") == 1);
  REQUIRE(end_run(s, "").empty());
}

TEST_CASE("oracle_does_not_report_a_healed_window_again_at_the_end_if_its_condition_still_holds") {
  script s = stuck(R"(,"rules":{"deadlock":{"window_ms":5}})");
  REQUIRE(count(s.time(5), R"("cause":null)") == 1);
  REQUIRE(end_run(s, R"(,"ts":6)").empty());
}

TEST_CASE("oracle_reports_a_window_at_the_end_whose_condition_was_false_since_it_fired") {
  script s = stuck(R"(,"rules":{"deadlock":{"window_ms":5}})");
  s.time(5);
  s.start("v1", "b", "[]");
  s.end("v1");
  REQUIRE(count(end_run(s, R"(,"ts":6)"), R"("d":"deadlock","at":null,"ts":6)") == 1);
}

TEST_CASE("oracle_heals_a_window_due_at_the_time_of_the_end_and_does_not_report_it_again") {
  script s = stuck(R"(,"rules":{"deadlock":{"window_ms":5}})");
  const strings answers = end_run(s, R"(,"ts":5)");
  REQUIRE(answers.size() == 2);
  REQUIRE(count(answers, R"("healed":true,"healing":"create","cause":null)") == 1);
}

TEST_CASE("oracle_does_not_report_an_orphan_at_the_end_that_was_reported_when_blocked") {
  script s(R"(,"agents":["a"],"rules":{"orphaned_event":{"max_attempts":0}})");
  s.start("v1", "a", "[]");
  REQUIRE(count(s.output("e1", "v1", R"(["z"])"), R"("cause":"attempts")") == 1);
  REQUIRE(end_run(s, "").empty());
}

TEST_CASE("oracle_gives_the_mode_as_the_cause_at_the_end_where_the_mode_is_not_enforce") {
  script shadow = stuck(R"(,"mode":"shadow")");
  REQUIRE(count(end_run(shadow, ""), R"("healed":false,"healing":null,"cause":"mode")") == 1);
  script off = stuck(R"(,"rules":{"deadlock":{"mode":"off"}})");
  REQUIRE(end_run(off, "").empty());
  script excepted(R"(,"agents":["a"],"rules":{"missing_termination":{"except":["a"]}})");
  excepted.start("v1", "a", "[]");
  excepted.end("v1");
  REQUIRE(count(end_run(excepted, ""),
                R"("agent":"a","evidence":[],"total":0,"healed":false,"healing":null,"cause":"mode")") == 1);
  script unable = stuck(R"(,"capabilities":{"create":false},"healing":{"budget":0})");
  REQUIRE(count(end_run(unable, ""), R"("cause":"ended")") == 1);
}

TEST_CASE("oracle_reports_nothing_at_the_end_from_before_a_gap") {
  script s = stuck();
  s.start("v1", "a", "[]");
  s.end("v1");
  s.send(R"("type":"gap")");
  REQUIRE(end_run(s, "").empty());
}
