// The oracle against hand-written traces: what is reported because the run ended.
#include "self_test_script.h"

#include <catch2/catch.hpp>

using namespace oracle_test;
using strings = std::vector<std::string>;

namespace {

strings end_run(script& s, const std::string& more) { return s.tell(R"("type":"run_ended")" + more); }

// e1 is pending with b, and nobody acts.
script stuck(const std::string& more = "") {
  script s(R"(,"agents":["a","b"])" + more);
  s.root("e1", R"(["b"])");
  return s;
}

}  // namespace

TEST_CASE("oracle: a run that ends at rest without an answer reports what its windows were waiting for") {
  for (const char* outcome : {R"(,"outcome":"failure")", "", R"(,"outcome":null)"}) {
    script s = stuck();
    REQUIRE(end_run(s, std::string(outcome) + R"(,"ts":9)") ==
            strings{R"({"d":"deadlock","at":null,"ts":9,"session":null,"event":null,"agent":null,"evidence":["e1"],)"
                    R"("total":1,"healed":false,"healing":null,"cause":"ended"})"});
    REQUIRE(refused(s.time(100), "run_closed"));
  }
}

TEST_CASE("oracle: a run that succeeded or was aborted reports nothing at its end, nor one with its answer out") {
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

TEST_CASE("oracle: an outcome that is none of the three is refused and ends nothing") {
  script s = stuck();
  for (const char* outcome : {R"(,"outcome":"fine")", R"(,"outcome":3)"})
    REQUIRE(count(end_run(s, outcome), R"("code":"bad_message","field":"outcome")") == 1);
  REQUIRE(count(end_run(s, ""), R"("cause":"ended")") == 1);
}

TEST_CASE("oracle: at the end deadlock or missing termination comes before orphans by event") {
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

TEST_CASE("oracle: an open activation that is active keeps its run's end quiet, a stalled one does not") {
  script s = stuck(R"(,"limits":{"stalled_ms":5})");
  s.start("v1", "a", "[]");
  script t = s;
  REQUIRE(end_run(s, R"(,"ts":4)").empty());
  REQUIRE(fired(end_run(t, R"(,"ts":5)"), "deadlock") == 1);
}

TEST_CASE("oracle: a window that fired unhealed is not reported again at the end") {
  script s = stuck(R"(,"mode":"observe","rules":{"deadlock":{"window_ms":5}})");
  REQUIRE(fired(s.time(5), "deadlock") == 1);
  REQUIRE(end_run(s, "").empty());
}

TEST_CASE("oracle: a window that was healed while its condition went on holding is not reported again at the end") {
  script s = stuck(R"(,"rules":{"deadlock":{"window_ms":5}})");
  REQUIRE(count(s.time(5), R"("cause":null)") == 1);
  REQUIRE(end_run(s, R"(,"ts":6)").empty());
}

TEST_CASE("oracle: a window whose condition has been false since it fired is reported at the end") {
  script s = stuck(R"(,"rules":{"deadlock":{"window_ms":5}})");
  s.time(5);
  s.start("v1", "b", "[]");
  s.end("v1");
  REQUIRE(count(end_run(s, R"(,"ts":6)"), R"("d":"deadlock","at":null,"ts":6)") == 1);
}

TEST_CASE("oracle: a window due by the end's own time fires and is healed, and then is not reported") {
  script s = stuck(R"(,"rules":{"deadlock":{"window_ms":5}})");
  const strings answers = end_run(s, R"(,"ts":5)");
  REQUIRE(answers.size() == 2);
  REQUIRE(count(answers, R"("healed":true,"healing":"create","cause":null)") == 1);
}

TEST_CASE("oracle: an orphan reported when it was blocked is not reported at the end") {
  script s(R"(,"agents":["a"],"rules":{"orphaned_event":{"max_attempts":0}})");
  s.start("v1", "a", "[]");
  REQUIRE(count(s.output("e1", "v1", R"(["z"])"), R"("cause":"attempts")") == 1);
  REQUIRE(end_run(s, "").empty());
}

TEST_CASE("oracle: at the end the cause is the mode where that does not enforce, and nothing would have been done") {
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

TEST_CASE("oracle: after a gap an end reports neither what was pending nor what ended before it") {
  script s = stuck();
  s.start("v1", "a", "[]");
  s.end("v1");
  s.tell(R"("type":"gap")");
  REQUIRE(end_run(s, "").empty());
}
