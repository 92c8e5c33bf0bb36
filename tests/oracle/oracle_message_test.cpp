// The oracle on hand-written traces: the sequence, errors, sessions, modes and healing.
#include "self_test_script.h"

#include <catch2/catch.hpp>

using namespace oracle_test;
using strings = std::vector<std::string>;

// --- messages, the sequence, sessions

TEST_CASE("oracle_uses_up_the_seq_of_a_refused_message_and_changes_nothing_else") {
  script s(R"(,"agents":["a"],"rules":{"deadlock":{"window_ms":1}})");
  s.root("e1", R"(["a"])");
  REQUIRE(s.send(R"("type":"agent_left","agent":"","ts":500)") ==
          strings{R"({"e":2,"session":"main","code":"bad_message","field":"agent"})"});
  REQUIRE(count({s.status()}, "\"clock\":0") == 1);
  REQUIRE(s.send_line(R"({"type":"agent_left","seq":1,"agent":"a"})").empty());  // resent
  REQUIRE(s.send_line(R"({"type":"agent_left","seq":9,"agent":"a"})") ==
          strings{R"({"e":3,"session":"main","code":"bad_seq","field":null})"});
  REQUIRE(s.send_line(R"({"type":"agent_left",)") == strings{R"({"e":3,"session":"main","code":"bad_json",)"
                                                             R"("field":null})"});
  REQUIRE(s.send_line(R"({"type":"time"})") == strings{R"({"e":4,"session":"main","code":"bad_message",)"
                                                       R"("field":"seq"})"});
  REQUIRE(s.send_line(R"({"type":"nap","seq":5})") ==
          strings{R"({"e":5,"session":"main","code":"bad_message","field":"type"})"});
  REQUIRE(fired(s.time(1), "deadlock") == 1);
}

TEST_CASE("oracle_refuses_each_invalid_message_with_its_error") {
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
  s.send(R"("type":"run_ended","outcome":"success")");
  REQUIRE(refused(s.time(1), "run_closed"));
  REQUIRE(refused(s.end("v1"), "activation_closed"));  // the first error in the protocol's order
}

TEST_CASE("oracle_records_but_judges_nothing_in_a_terminal_run") {
  script s(R"(,"agents":["a"],"rules":{"deadlock":{"window_ms":1}})");
  s.start("v1", "a", "[]");
  s.end("v1", "{}", R"([{"id":"e1","submit":true}])");
  REQUIRE(s.terminal());
  REQUIRE(count(s.root("e2", "[]"), "\"action\":\"deliver\"") == 1);
  s.root("e3", R"(["a"])");
  REQUIRE(s.time(1000).empty());
  REQUIRE(s.reachable(R"(["e3"])"));
}

TEST_CASE("oracle_moves_the_clock_only_forwards_and_only_for_accepted_messages") {
  script s;
  s.time(10);
  s.time(5);
  s.send(R"("type":"time")");
  REQUIRE(count({s.status()}, "\"clock\":10") == 1);
}

TEST_CASE("oracle_counts_each_session_separately_and_heals_by_its_capabilities") {
  script s(R"(,"agents":["a"],"capabilities":{"reroute":false})");
  s.send_line(R"({"type":"hello","protocol":1,"run":"r","session":"s2","agents":["b"],)"
              R"("capabilities":{"inject":false}})");
  REQUIRE(count({s.status()}, R"("roster":["a","b"])") == 1);
  s.start("v1", "a", "[]");
  REQUIRE(count(s.output("e1", "v1", "[]"), R"("cause":"unsupported")") == 1);
  const strings answers =
      s.send_line(R"({"type":"event","seq":1,"session":"s2","event":{"id":"e2","source":"v1","recipients":["z"]}})");
  REQUIRE(count(answers, R"("at":1,"ts":0,"session":"s2")") == 1);
  REQUIRE(count(answers, R"("action":"reroute","recipients":["a"],"inject":false)") == 1);
  REQUIRE(count(s.send_line(R"({"type":"hello","protocol":1,"run":"r","session":"s3","mode":"off"})"),
                "hello_conflict") == 1);
}

// --- healing

TEST_CASE("oracle_applies_the_weaker_mode_names_shadow_healings_and_reports_nothing_when_off") {
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

TEST_CASE("oracle_reports_the_first_cause_and_names_no_shadow_healing_if_another_cause_applies") {
  script s(R"(,"agents":["a"],"mode":"shadow","healing":{"budget":0})");
  s.start("v1", "a", "[]");
  REQUIRE(count(s.output("e1", "v1", "[]"), R"("healing":null,"cause":"mode")") == 1);
  script t(R"(,"agents":["a"],"healing":{"budget":0},"rules":{"orphaned_event":{"max_attempts":0}})");
  t.start("v1", "a", "[]");
  REQUIRE(count(t.send(R"("type":"event","as_is":true,"event":{"id":"e0","source":"v1"})"), R"("cause":"as_is")") == 1);
  REQUIRE(count(t.output("e1", "v1", "[]"), R"("cause":"attempts")") == 1);
  t.send(R"("type":"agent_left","agent":"a")");
  REQUIRE(count(t.output("e2", "v1", "[]"), R"("cause":"target")") == 1);
  script u(R"(,"agents":["a"],"healing":{"budget":1})");
  u.start("v1", "a", "[]");
  REQUIRE(count(u.output("e1", "v1", "[]"), R"("cause":null)") == 1);
  REQUIRE(count(u.output("e2", "v1", "[]"), R"("cause":"budget")") == 1);
}

TEST_CASE("oracle_takes_one_of_the_budget_for_an_event_on_which_several_rules_fire") {
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

TEST_CASE("oracle_counts_a_submit_event_delivered_as_is_as_let_through") {
  script s;
  s.root("e1", R"(["b"])");
  s.start("v1", "a", "[]");
  s.end("v1", "{}", R"([{"id":"e2","submit":true}])");
  REQUIRE(s.reachable(R"(["e1","e2"])"));
  s.send(R"("type":"delivery","event":"e2","applied":"rerouted")");
  REQUIRE(!s.terminal());
  s.send(R"("type":"delivery","event":"e2","applied":"as_is")");
  REQUIRE(s.terminal());
  REQUIRE(s.reachable(R"(["e1"])"));
}

TEST_CASE("oracle_only_observes_for_excepted_agents") {
  script s(R"(,"agents":["a","b"],"rules":{"orphaned_event":{"except":["a"]}})");
  s.start("v1", "a", "[]");
  s.start("v2", "b", "[]");
  const strings answers = s.output("e1", "v1", "[]");  // excepted by the agent of its source
  REQUIRE(count(answers, R"("healed":false,"healing":null,"cause":"mode")") == 1);
  REQUIRE(count(answers, R"("action":"deliver")") == 1);
  REQUIRE(count(s.output("e2", "v2", "[]"), R"("cause":null)") == 1);
  REQUIRE(count(s.root("e3", "[]"), R"("cause":"target")") == 1);  // a root event has no agent that could be excepted
  REQUIRE(fired(s.time(100000), "orphaned_event") == 0);           // e1 counts as fired
}

TEST_CASE("oracle_excepts_a_clash_by_its_agent_and_not_by_the_agent_of_the_source") {
  script s(R"(,"agents":["a","b","c"],"rules":{"cross_lineage_aggregation":{"except":["a","b"]}})");
  s.start("g1", "a", "[]");
  s.output("e1", "g1", R"(["b","c"])");
  s.start("g2", "a", "[]");
  const strings answers = s.output("e2", "g2", R"(["b","c"])");
  REQUIRE(count(answers, R"("agent":"b","evidence":["e1"],"total":1,"healed":false,"healing":null,"cause":"mode")") ==
          1);
  REQUIRE(count(answers, R"("agent":"c","evidence":["e1"],"total":1,"healed":true,"healing":"inject","cause":null)") ==
          1);
  REQUIRE(count(answers, R"("action":"inject")") == 1);
}

TEST_CASE("oracle_only_observes_windows_of_an_excepted_agent_and_reports_nothing_when_off") {
  for (const char* mode : {"shadow", "off"}) {
    script s(R"(,"agents":["a"],"rules":{"missing_termination":{"window_ms":1,"except":["a"],"mode":")" +
             std::string(mode) + R"("}})");
    s.start("v1", "a", "[]");
    s.end("v1");
    REQUIRE(count(s.time(10), R"("agent":"a","evidence":[],"total":0,"healed":false,"healing":null,"cause":"mode")") ==
            (std::string(mode) == "shadow" ? 1u : 0u));
  }
}

TEST_CASE("oracle_limits_how_often_three_rules_make_one_agent_act_again") {
  script s(
      R"(,"agents":["a","b"],"healing":{"max_returns_per_agent":2},"rules":{"missing_termination":{"window_ms":10}})");
  s.root("e0", R"(["b"])");
  s.start("v1", "a", "[]");
  REQUIRE(count(s.output("e1", "v1", R"(["z"])"), R"("d":"orphaned_event")") == 1);
  const strings answers = s.end("v1", "{}", R"([{"id":"e2","submit":true},{"id":"e3","recipients":["z"]}])");
  REQUIRE(count({answers[0]}, R"("d":"early_termination")") == 1);
  REQUIRE(count({answers[0]}, R"("cause":null)") == 1);
  REQUIRE(count({answers[1]}, R"("event":"e3")") == 1);
  REQUIRE(count({answers[1]}, R"("healed":false,"healing":null,"cause":"attempts")") == 1);
  s.start("v2", "b", R"(["e0"])");
  REQUIRE(count(s.output("e4", "v2", R"(["z"])"), R"("cause":null)") == 1);  // each agent has its own count
  s.send(R"("type":"delivery","event":"e1","applied":"as_is")");
  s.start("v3", "a", R"(["e1","e2","e3"])");
  REQUIRE(count(s.output("e5", "v3", R"(["z"])"), R"("cause":"attempts")") ==
          1);  // the healing counts although it was not applied
  s.start("v4", "b", R"(["e4"])");
  s.end("v4");
  s.end("v2");
  s.end("v3", R"({"e1":"consume"})");
  REQUIRE(s.time(10) ==
          strings{R"({"d":"missing_termination","at":null,"ts":10,"session":null,"event":null,"agent":"a",)"
                  R"("evidence":[],"total":0,"healed":false,"healing":null,"cause":"attempts"})"});
}

TEST_CASE("oracle_does_not_ask_an_agent_for_an_answer_that_has_acted_again_often_enough") {
  script s(R"(,"agents":["a"],"healing":{"max_returns_per_agent":1},)"
           R"("rules":{"missing_termination":{"window_ms":10},"deadlock":{"window_ms":1}})");
  s.start("v1", "a", "[]");
  s.end("v1");
  REQUIRE(count(s.time(10), R"("cause":null)") == 1);
  REQUIRE(count(s.time(20), R"("d":"missing_termination","at":null,"ts":20)") == 1);
  REQUIRE(s.time(100).empty());
  s.root("e1", R"(["a"])");
  REQUIRE(count(s.time(101), R"("d":"deadlock")") == 1);
  REQUIRE(count(s.time(102), R"("cause":null)") ==
          1);  // a deadlock makes no single agent act again, so it counts for none
}

TEST_CASE("oracle_counts_no_returns_in_shadow") {
  script s(R"(,"agents":["a"],"mode":"shadow","healing":{"max_returns_per_agent":1})");
  s.start("v1", "a", "[]");
  REQUIRE(count(s.output("e1", "v1", "[]"), R"("healing":"reroute","cause":"mode")") == 1);
  REQUIRE(count(s.output("e2", "v1", "[]"), R"("healing":"reroute","cause":"mode")") == 1);
  script t(R"(,"agents":["a"],"mode":"shadow","healing":{"max_returns_per_agent":0})");
  t.start("v1", "a", "[]");
  REQUIRE(count(t.output("e1", "v1", "[]"), R"("healing":null,"cause":"mode")") == 1);
}

TEST_CASE("oracle_makes_an_agent_act_again_five_times_by_default") {
  script s(R"(,"agents":["a"])");
  s.start("v1", "a", "[]");
  for (int i = 0; i < 6; ++i)
    REQUIRE(count(s.output("e" + std::to_string(i), "v1", "[]"), i < 5 ? R"("cause":null)" : R"("cause":"attempts")") ==
            1);
}

static std::string names_of_length(std::size_t count, std::size_t bytes) {
  std::string names;
  for (std::size_t i = 0; i < count; ++i) {
    const std::string name = std::to_string(1000 + i);
    names += (i == 0 ? "\"" : ",\"") + name + std::string(bytes - name.size(), 'n') + '"';
  }
  return '[' + names + ']';
}

// The number of names that the first detection lists.
static std::ptrdiff_t listed_count(const strings& answers) {
  const std::size_t from = answers[0].find("\"evidence\":[") + 12;
  const std::string evidence = answers[0].substr(from, answers[0].find(']', from) - from);
  return std::count(evidence.begin(), evidence.end(), '"') / 2;
}

TEST_CASE("oracle_lists_at_most_64_ids_of_evidence_and_counts_all") {
  script s;
  REQUIRE(listed_count(s.root("e1", names_of_length(64, 10))) == 64);
  const strings answers = s.root("e2", names_of_length(65, 10));
  REQUIRE(listed_count(answers) == 64);
  REQUIRE(count(answers, R"("total":65)") == 1);
}

TEST_CASE("oracle_lists_at_most_4096_bytes_of_evidence_and_stops_at_the_first_id_that_does_not_fit") {
  script s;
  REQUIRE(listed_count(s.root("e1", names_of_length(16, 256))) == 16);
  const strings answers = s.root("e2", names_of_length(17, 256));
  REQUIRE(listed_count(answers) == 16);
  REQUIRE(count(answers, R"("total":17)") == 1);
  std::string names = names_of_length(16, 256);
  names.insert(1, R"("0",)");
  names.insert(names.size() - 1, R"(,"2")");
  REQUIRE(listed_count(s.root("e3", names)) == 16);  // "0" and fifteen of 256 bytes; neither the sixteenth nor "2"
}
