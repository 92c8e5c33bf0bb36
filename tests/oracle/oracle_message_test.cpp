// The oracle against hand-written traces: the sequence, errors, sessions, modes and healing.
#include "self_test_script.h"

#include <catch2/catch.hpp>

using namespace oracle_test;
using strings = std::vector<std::string>;

// --- messages, the sequence, sessions

TEST_CASE("oracle: a refused message changes nothing but its place in the sequence") {
  script s(R"(,"agents":["a"],"rules":{"deadlock":{"window_ms":1}})");
  s.root("e1", R"(["a"])");
  REQUIRE(s.tell(R"("type":"agent_left","agent":"","ts":500)") ==
          strings{R"({"e":2,"session":"main","code":"bad_message","field":"agent"})"});
  REQUIRE(count({s.status()}, "\"clock\":0") == 1);
  REQUIRE(s.say(R"({"type":"agent_left","seq":1,"agent":"a"})").empty());  // resent
  REQUIRE(s.say(R"({"type":"agent_left","seq":9,"agent":"a"})") ==
          strings{R"({"e":3,"session":"main","code":"bad_seq","field":null})"});
  REQUIRE(s.say(R"({"type":"agent_left",)") == strings{R"({"e":3,"session":"main","code":"bad_json","field":null})"});
  REQUIRE(s.say(R"({"type":"time"})") == strings{R"({"e":4,"session":"main","code":"bad_message","field":"seq"})"});
  REQUIRE(s.say(R"({"type":"nap","seq":5})") == strings{R"({"e":5,"session":"main","code":"bad_message","field":"type"})"});
  REQUIRE(fired(s.time(1), "deadlock") == 1);
}

TEST_CASE("oracle: each error that a message can earn") {
  script s;
  s.root("e1", R"(["a"])");
  s.start("v1", "a", R"(["e1"])");
  REQUIRE(refused(s.root("e1", "[]"), "duplicate_event"));
  REQUIRE(refused(s.start("v1", "a", "[]"), "duplicate_activation"));
  REQUIRE(refused(s.root("sys:1", "[]"), "reserved_id"));
  REQUIRE(refused(s.start("v2", "a", R"(["sys:1"])"), "reserved_id"));
  REQUIRE(refused(s.output("e2", "v9", "[]"), "unknown_activation"));
  REQUIRE(refused(s.end("v1", R"({"e9":"consume"})"), "not_an_input"));
  REQUIRE(refused(s.end("v1", "{}", R"([{"id":"e7"}])", R"(,"failed":true)"), "failed_with_outputs"));
  REQUIRE(refused(s.root("e3", "[]", R"(,"submit":true)"), "submit_without_source"));
  REQUIRE(refused(s.end("v1", "{}", R"([{"id":"e7"},{"id":"e7"}])"), "duplicate_event"));
  s.end("v1");
  REQUIRE(refused(s.end("v1"), "activation_closed"));
  s.tell(R"("type":"run_ended","outcome":"success")");
  REQUIRE(refused(s.time(1), "run_closed"));
  REQUIRE(refused(s.end("v1"), "activation_closed"));  // the first in the protocol's order
}

TEST_CASE("oracle: in a terminal run no rule fires any more but all is recorded") {
  script s(R"(,"agents":["a"],"rules":{"deadlock":{"window_ms":1}})");
  s.start("v1", "a", "[]");
  s.end("v1", "{}", R"([{"id":"e1","submit":true}])");
  REQUIRE(s.terminal());
  REQUIRE(count(s.root("e2", "[]"), "\"action\":\"deliver\"") == 1);
  s.root("e3", R"(["a"])");
  REQUIRE(s.time(1000).empty());
  REQUIRE(s.reachable(R"(["e3"])"));
}

TEST_CASE("oracle: the clock never goes backwards and moves for accepted messages only") {
  script s;
  s.time(10);
  s.time(5);
  s.tell(R"("type":"time")");
  REQUIRE(count({s.status()}, "\"clock\":10") == 1);
}

TEST_CASE("oracle: each session counts for itself and heals by its own capabilities") {
  script s(R"(,"agents":["a"],"capabilities":{"reroute":false})");
  s.say(R"({"type":"hello","protocol":1,"run":"r","session":"s2","agents":["b"],"capabilities":{"inject":false}})");
  REQUIRE(count({s.status()}, R"("roster":["a","b"])") == 1);
  s.start("v1", "a", "[]");
  REQUIRE(count(s.output("e1", "v1", "[]"), R"("cause":"unsupported")") == 1);
  const strings answers =
      s.say(R"({"type":"event","seq":1,"session":"s2","event":{"id":"e2","source":"v1","recipients":["z"]}})");
  REQUIRE(count(answers, R"("at":1,"ts":0,"session":"s2")") == 1);
  REQUIRE(count(answers, R"("action":"reroute","recipients":["a"],"inject":false)") == 1);
  REQUIRE(count(s.say(R"({"type":"hello","protocol":1,"run":"r","session":"s3","mode":"off"})"), "hello_conflict") == 1);
}

// --- healing

TEST_CASE("oracle: modes: the weaker holds, shadow says what would have been done, off is silent") {
  const auto answers = [](const std::string& run, const std::string& rule) {
    script s(R"(,"agents":["a"],"mode":")" + run + R"(","rules":{"orphaned_event":{"mode":")" + rule + R"("}})");
    s.start("v1", "a", "[]");
    return s.output("e1", "v1", "[]");
  };
  REQUIRE(count(answers("enforce", "shadow"), R"("healed":false,"healing":"reroute","cause":"mode")") == 1);
  REQUIRE(count(answers("shadow", "enforce"), R"("healed":false,"healing":"reroute","cause":"mode")") == 1);
  REQUIRE(count(answers("observe", "shadow"), R"("healed":false,"healing":null,"cause":"mode")") == 1);
  REQUIRE(fired(answers("enforce", "off"), "orphaned_event") == 0);
  REQUIRE(fired(answers("off", "enforce"), "orphaned_event") == 0);
}

TEST_CASE("oracle: causes come in their order, and shadow is stopped by all but the mode") {
  script s(R"(,"agents":["a"],"mode":"shadow","healing":{"budget":0})");
  s.start("v1", "a", "[]");
  REQUIRE(count(s.output("e1", "v1", "[]"), R"("healing":null,"cause":"mode")") == 1);
  script t(R"(,"agents":["a"],"healing":{"budget":0},"rules":{"orphaned_event":{"max_attempts":0}})");
  t.start("v1", "a", "[]");
  REQUIRE(count(t.tell(R"("type":"event","as_is":true,"event":{"id":"e0","source":"v1"})"), R"("cause":"as_is")") == 1);
  REQUIRE(count(t.output("e1", "v1", "[]"), R"("cause":"attempts")") == 1);
  t.tell(R"("type":"agent_left","agent":"a")");
  REQUIRE(count(t.output("e2", "v1", "[]"), R"("cause":"target")") == 1);
  script u(R"(,"agents":["a"],"healing":{"budget":1})");
  u.start("v1", "a", "[]");
  REQUIRE(count(u.output("e1", "v1", "[]"), R"("cause":null)") == 1);
  REQUIRE(count(u.output("e2", "v1", "[]"), R"("cause":"budget")") == 1);
}

TEST_CASE("oracle: an event on which several rules fire costs the budget one") {
  script s(R"(,"agents":["a","b"],"healing":{"budget":2},"rules":{"excessive_rerouting":{"max_reroutes":0}})");
  s.start("v0", "a", "[]");
  s.end("v0", "{}", R"([{"id":"e1","recipients":["b"]}])");
  s.start("v1", "b", R"(["e1"])");
  const strings answers = s.end("v1", R"({"e1":{"reroute":[]}})");
  REQUIRE(fired({answers[0]}, "orphaned_event") == 1);
  REQUIRE(fired({answers[1]}, "excessive_rerouting") == 1);
  REQUIRE(count(answers, R"("healed":true)") == 2);
  REQUIRE(count(answers, R"("action":"reroute","recipients":["a"])") == 1);
  REQUIRE(count(s.output("e2", "v0", "[]"), "activation_closed") == 1);
  s.start("v2", "a", "[]");
  REQUIRE(count(s.output("e2", "v2", "[]"), R"("cause":null)") == 1);
  REQUIRE(count(s.output("e3", "v2", "[]"), R"("cause":"budget")") == 1);
}

TEST_CASE("oracle: a submit event reported as delivered as is counts as let through after all") {
  script s;
  s.root("e1", R"(["b"])");
  s.start("v1", "a", "[]");
  s.end("v1", "{}", R"([{"id":"e2","submit":true}])");
  REQUIRE(s.reachable(R"(["e1","e2"])"));
  s.tell(R"("type":"delivery","event":"e2","applied":"rerouted")");
  REQUIRE(!s.terminal());
  s.tell(R"("type":"delivery","event":"e2","applied":"as_is")");
  REQUIRE(s.terminal());
  REQUIRE(s.reachable(R"(["e1"])"));
}

TEST_CASE("oracle: at most a thousand pieces of evidence are listed and all are counted") {
  script s;
  std::string recipients;
  for (int i = 0; i < 1001; ++i)
    recipients += (i == 0 ? "\"n" : ",\"n") + std::to_string(i) + '"';
  const strings answers = s.root("e1", "[" + recipients + "]");
  REQUIRE(count(answers, R"("total":1001)") == 1);
  REQUIRE(std::count(answers[0].begin(), answers[0].end(), ',') == 999 + 10);
}
