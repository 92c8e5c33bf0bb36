// The oracle on hand-written traces: each rule fires, near misses do not, and messages change the graph as defined.
#include "self_test_script.h"

#include <catch2/catch.hpp>

using namespace oracle_test;
using strings = std::vector<std::string>;

// --- the rules on blocked events

TEST_CASE("oracle_gives_a_submit_event_with_unresolved_work_back_to_its_author_alone") {
  script s;
  s.root("e1", R"(["a"])");
  s.root("e2", R"(["b"])");
  s.start("v1", "a", R"(["e1"])");
  const strings answers = s.end("v1", "{}", R"([{"id":"e9","submit":true,"recipients":["c"]}])", R"(,"ts":7)");
  REQUIRE(answers ==
          strings{R"({"d":"early_termination","at":4,"ts":7,"session":"main","event":"e9","agent":null,)"
                  R"("evidence":["e2"],"total":1,"healed":true,"healing":"reroute","cause":null})",
                  R"({"v":4,"session":"main","event":"e9","action":"reroute","recipients":["a"],"inject":true})"});
  // It is work now, pending only at its own agent.
  REQUIRE(s.status() ==
          R"({"s":{"reachable":["e2","e9"],"active":0,"roster":["a","b","c"],"terminal":false,"clock":7}})");
}

TEST_CASE("oracle_requires_the_next_answer_to_derive_from_the_one_given_back") {
  script s;
  s.root("e1", R"(["a"])");
  s.start("v1", "a", "[]");
  s.output("e8", "v1", "[]", R"(,"submit":true)");
  s.end("v1");
  s.start("v2", "b", "[]");
  REQUIRE(count(s.output("e9", "v2", "[]", R"(,"submit":true)"), R"("evidence":["e1","e8"])") == 1);
  s.start("v3", "a", R"(["e1","e8"])");
  REQUIRE(count(s.output("e10", "v3", "[]", R"(,"submit":true)"), R"("evidence":["e9"])") == 1);
  s.start("v4", "c", R"(["e9","e10"])");  // through e10 also derived from e1 and e8
  REQUIRE(fired(s.output("e11", "v4", "[]", R"(,"submit":true)"), "early_termination") == 0);
  REQUIRE(s.terminal());
}

TEST_CASE("oracle_lets_a_submit_event_through_that_derives_from_all_reachable_work") {
  script s;
  s.root("e1", R"(["a","b"])");
  s.start("v1", "a", R"(["e1"])");
  s.end("v1", "{}", R"([{"id":"e2","recipients":["c"]}])");
  s.start("v2", "c", R"(["e2"])");
  const strings answers = s.output("e3", "v2", "[]", R"(,"submit":true)");  // e1 still pending with b
  REQUIRE(answers ==
          strings{R"({"v":5,"session":"main","event":"e3","action":"deliver","recipients":null,"inject":false})"});
  REQUIRE(s.terminal());
}

TEST_CASE("oracle_derives_outputs_of_an_ended_activation_only_from_inputs_it_consumed") {
  for (const char* reaction : {"wait", "consume"}) {
    script s;
    s.root("e1", R"(["a"])");
    s.root("e2", R"(["a"])");
    s.start("v1", "a", R"(["e1","e2"])");
    const strings answers = s.end("v1", std::string(R"({"e1":")") + reaction + "\"}", R"([{"id":"e3","submit":true}])");
    REQUIRE(fired(answers, "early_termination") == (std::string(reaction) == "wait" ? 1u : 0u));
  }
}

TEST_CASE("oracle_counts_only_the_configured_kinds_for_early_termination") {
  script s(R"(,"agents":["a","b"],"rules":{"early_termination":{"kinds":["k"]}})");
  s.root("e1", R"(["a"])", R"(,"kind":"other")");
  s.start("v1", "b", "[]");
  REQUIRE(fired(s.output("e2", "v1", "[]", R"(,"submit":true)"), "early_termination") == 0);
}

TEST_CASE("oracle_skips_repeated_work_only_if_asked_to") {
  for (const bool skips : {false, true}) {
    script s(std::string(R"(,"agents":["a","b"],"rules":{"early_termination":{"skip_repeated":)") +
             (skips ? "true" : "false") + "}}");
    s.root("e1", R"(["a","b"])");
    s.start("v1", "a", R"(["e1"])");
    s.end("v1", "{}", "[]");
    s.start("v2", "b", R"(["e1"])");
    s.end("v2", "{}", R"([{"id":"e2","recipients":["b"]}])");
    s.start("v3", "a", "[]");
    REQUIRE(fired(s.output("e3", "v3", "[]", R"(,"submit":true)"), "early_termination") == (skips ? 0u : 1u));
  }
}

TEST_CASE("oracle_reports_an_event_for_nobody_in_the_roster_as_an_orphan_at_once") {
  script s;
  s.start("v1", "a", "[]");
  const strings answers = s.output("e1", "v1", R"(["z","y","z"])");
  REQUIRE(count(answers, R"("evidence":["y","z"],"total":2,"healed":true,"healing":"reroute","cause":null)") == 1);
  REQUIRE(count(answers, R"("action":"reroute","recipients":["a"],"inject":true)") == 1);
  REQUIRE(s.reachable(R"(["e1"])"));
  REQUIRE(fired(s.output("e2", "v1", R"(["z","b"])"), "orphaned_event") == 0);
  REQUIRE(fired(s.output("e3", "v1", "[]", R"(,"fyi":true)"), "orphaned_event") == 0);
}

TEST_CASE("oracle_cannot_give_an_orphaned_root_event_back_and_does_not_report_it_again") {
  script s;
  REQUIRE(count(s.root("e1", "[]"), R"("healed":false,"healing":null,"cause":"target")") == 1);
  REQUIRE(s.time(100000).empty());
}

TEST_CASE("oracle_reports_reroutes_beyond_max_reroutes_unless_the_event_is_consumed") {
  for (const bool consumed : {false, true}) {
    script s(R"(,"agents":["a","b"],"rules":{"excessive_rerouting":{"max_reroutes":1}})");
    s.root("e1", R"(["a","b"])");
    s.start("v1", "a", R"(["e1"])");
    REQUIRE(fired(s.end("v1", R"({"e1":{"reroute":["a"]}})"), "excessive_rerouting") == 0);
    if (consumed) {
      s.start("v2", "b", R"(["e1"])");
      s.end("v2");
    }
    s.start("v3", "a", R"(["e1"])");
    const strings answers = s.end("v3", R"({"e1":{"reroute":["b","a"]}})");
    REQUIRE(fired(answers, "excessive_rerouting") == (consumed ? 0u : 1u));
    REQUIRE(count(answers, R"("action":"inject","recipients":null,"inject":true)") == (consumed ? 0u : 1u));
  }
}

// Two generators g1 (e1, e2) and g2 (e3, e4).
static script two_lineages(const std::string& settings = R"(,"agents":["a","b","c"])") {
  script s(settings);
  s.start("g1", "a", "[]");
  s.end("g1", "{}", R"([{"id":"e1","recipients":["b"],"kind":"k"},{"id":"e2","recipients":["c"],"kind":"k"}])");
  s.start("g2", "a", "[]");
  return s;
}

TEST_CASE("oracle_reports_a_clash_of_lineages_once_for_each_agent_in_the_order_named") {
  script s = two_lineages();
  const strings answers = s.end("g2", "{}", R"([{"id":"e3","recipients":["c","z","b"]}])");
  REQUIRE(answers.size() == 3);
  REQUIRE(answers[0] == R"({"d":"cross_lineage_aggregation","at":4,"ts":0,"session":"main","event":"e3","agent":"c",)"
                        R"("evidence":["e2"],"total":1,"healed":true,"healing":"inject","cause":null})");
  REQUIRE(count({answers[1]}, R"("agent":"b","evidence":["e1"])") == 1);
}

TEST_CASE("oracle_reports_no_clash_for_the_same_lineage_no_generators_or_another_kind") {
  script s = two_lineages();
  REQUIRE(fired(s.root("e5", R"(["b"])"), "cross_lineage_aggregation") == 0);
  s.start("v1", "c", R"(["e2"])");
  REQUIRE(fired(s.end("v1", "{}", R"([{"id":"e6","recipients":["b"]}])"), "cross_lineage_aggregation") == 0);
  script kinds = two_lineages(R"(,"agents":["a","b","c"],"rules":{"cross_lineage_aggregation":{"kinds":["k"]}})");
  REQUIRE(fired(kinds.end("g2", "{}", R"([{"id":"e3","recipients":["b"]}])"), "cross_lineage_aggregation") == 0);
}

TEST_CASE("oracle_reports_no_clash_for_fyi_events_or_events_of_a_reducing_activation") {
  script s;
  s.start("g1", "a", "[]");
  s.output("e1", "g1", R"(["b"])", R"(,"fyi":true)");
  s.start("g2", "a", "[]");
  REQUIRE(fired(s.output("e2", "g2", R"(["b"])"), "cross_lineage_aggregation") == 0);
  s.root("e3", R"(["c"])");
  s.start("v3", "c", R"(["e3"])");  // one input, one output: problem-reducing
  REQUIRE(fired(s.end("v3", "{}", R"([{"id":"e4","recipients":["b"]}])"), "cross_lineage_aggregation") == 0);
}

TEST_CASE("oracle_ignores_events_with_more_generators_than_the_limit") {
  script s = two_lineages(R"(,"agents":["a","b","c"],"limits":{"generators":0})");
  REQUIRE(fired(s.end("g2", "{}", R"([{"id":"e3","recipients":["b"]}])"), "cross_lineage_aggregation") == 0);
}

TEST_CASE("oracle_reports_work_that_another_reducing_activation_consumed_as_repeated") {
  for (const char* first_outputs : {"[]", R"([{"id":"x1","recipients":["c"]},{"id":"x2","recipients":["c"]}])"}) {
    script s;
    s.root("e1", R"(["a","b"])");
    s.start("v1", "a", R"(["e1"])");
    s.end("v1", "{}", first_outputs);  // with two outputs it is problem-generating
    s.start("v2", "b", R"(["e1"])");
    const strings answers = s.end("v2", "{}", R"([{"id":"e2","recipients":["c"]}])");
    REQUIRE(fired(answers, "repeated_subproblem") == (std::string(first_outputs) == "[]" ? 1u : 0u));
    REQUIRE(count(answers, R"("agent":null,"evidence":["e1"])") == (std::string(first_outputs) == "[]" ? 1u : 0u));
  }
}

TEST_CASE("oracle_does_not_count_fyi_outputs_as_generating_but_lets_them_fix_the_used_inputs") {
  script s;
  s.root("e1", R"(["a","b"])");
  s.start("v1", "a", R"(["e1"])");
  s.end("v1", "{}", R"([{"id":"x1","recipients":["c"],"fyi":true},{"id":"x2","recipients":["c"],"fyi":true}])");
  s.start("v2", "b", R"(["e1"])");
  s.output("x3", "v2", R"(["c"])", R"(,"fyi":true)");  // from here e1 counts as used, whatever the reaction to it is
  const strings answers = s.end("v2", R"({"e1":"discard"})", R"([{"id":"e2","recipients":["c"]}])");
  REQUIRE(count(answers, R"("d":"repeated_subproblem")") == 1);
  REQUIRE(count(answers, R"("evidence":["e1"])") == 1);
}

TEST_CASE("oracle_does_not_count_a_late_fyi_event_as_work_or_as_an_output_of_its_source") {
  script s(R"(,"agents":["a","b"],"rules":{"missing_termination":{"mode":"off"}})");
  s.root("e1", R"(["a","b"])");
  s.start("v1", "a", R"(["e1"])");
  s.end("v1");
  s.start("v2", "b", R"(["e1"])");
  s.start("v3", "a", R"(["e9"])");
  REQUIRE(s.reachable(R"(["e1","e9"])"));
  s.output("e9", "v2", R"(["a"])", R"(,"fyi":true)");
  REQUIRE(s.reachable(R"(["e1"])"));
  REQUIRE(fired(s.end("v2", "{}", R"([{"id":"e2","recipients":["a"]}])"), "repeated_subproblem") == 1);
}

TEST_CASE("oracle_judges_a_rerouted_fyi_event_by_no_rule") {
  script s(R"(,"agents":["a"],"rules":{"excessive_rerouting":{"max_reroutes":0}})");
  s.root("e1", R"(["a"])", R"(,"fyi":true)");
  s.start("v1", "a", R"(["e1"])");
  REQUIRE(s.end("v1", R"({"e1":{"reroute":["z"]}})").size() == 1);
}

TEST_CASE("oracle_reports_no_repetition_for_failed_or_generating_activations_and_rerouted_outputs") {
  script s;
  s.root("e1", R"(["a","b","c"])");
  s.start("v1", "a", R"(["e1"])");
  s.send(R"("type":"activation_ended","activation":"v1","failed":true)");
  s.start("v2", "b", R"(["e1"])");
  REQUIRE(fired(s.end("v2", "{}", R"([{"id":"e2","recipients":["c"]}])"), "repeated_subproblem") == 0);
  s.start("v3", "c", R"(["e1","e2"])");
  const strings answers =
      s.end("v3", R"({"e1":"consume","e2":{"reroute":["b"]}})",
            R"([{"id":"e3","recipients":["b"]},{"id":"e4","recipients":["b"]},{"id":"e5","recipients":["b"]}])");
  REQUIRE(fired(answers, "repeated_subproblem") == 0);
  REQUIRE(count(answers, "\"v\":7") == 4);
  REQUIRE(answers[0].find(R"("event":"e2")") != std::string::npos);  // rerouted events come first
}

// --- the rules by time

TEST_CASE("oracle_reports_a_deadlock_after_the_window_and_starts_the_window_again_after_healing") {
  script s(R"(,"agents":["b","a"],"rules":{"deadlock":{"window_ms":100,"max_attempts":2}})");
  s.root("e1", R"(["a"])", R"(,"kind":"x"},"ts":5,"x":{"y":1)");
  REQUIRE(s.time(104).empty());
  REQUIRE(s.time(204) ==
          strings{R"({"d":"deadlock","at":null,"ts":105,"session":null,"event":null,"agent":null,"evidence":["e1"],)"
                  R"("total":1,"healed":true,"healing":"create","cause":null})",
                  R"({"i":"sys:1","action":"create","event":null,"recipients":["a","b"],"inject":true})"});
  REQUIRE(s.reachable(R"(["e1"])"));  // a system event is not work
  REQUIRE(fired(s.time(205), "deadlock") == 1);
  REQUIRE(count(s.time(1000), R"("ts":305,"session":null,"event":null,"agent":null,"evidence":["e1"],"total":1,)"
                              R"("healed":false,"healing":null,"cause":"attempts")") == 1);
  REQUIRE(s.time(100000).empty());
}

TEST_CASE("oracle_reports_no_deadlock_while_an_activation_is_active_and_not_stalled") {
  script s(R"(,"agents":["a"],"rules":{"deadlock":{"window_ms":100}},"limits":{"stalled_ms":50})");
  s.root("e1", R"(["a"])");
  s.start("v1", "a", R"(["e1"])");
  s.send(R"("type":"event","ts":20,"event":{"id":"e2","source":"v1","recipients":["a"]})");
  REQUIRE(s.time(169).empty());  // stalled at 70, due at 170
  REQUIRE(count(s.time(170), R"("d":"deadlock","at":null,"ts":170)") == 1);
  REQUIRE(count({s.status()}, R"("active":0)") == 1);
  s.output("e3", "v1", R"(["a"])");
  REQUIRE(count({s.status()}, R"("active":1)") == 1);
}

TEST_CASE("oracle_reports_missing_termination_when_work_runs_out_without_an_answer") {
  script s(R"(,"rules":{"missing_termination":{"window_ms":10}})");
  REQUIRE(s.time(1000).empty());  // no activation has ended yet
  s.start("v1", "a", "[]");
  s.end("v1");
  REQUIRE(s.time(1010) ==
          strings{R"({"d":"missing_termination","at":null,"ts":1010,"session":null,"event":null,"agent":"a",)"
                  R"("evidence":[],"total":0,"healed":true,"healing":"create","cause":null})",
                  R"({"i":"sys:1","action":"create","event":null,"recipients":["a"],"inject":true})"});
  s.send(R"("type":"gap")");
  REQUIRE(s.time(5000).empty());  // only activations that end after the gap count
}

TEST_CASE("oracle_reports_an_event_that_all_agents_discarded_or_lost_as_an_orphan_after_its_window") {
  script s(R"(,"agents":["a","b"],"rules":{"orphaned_event":{"window_ms":30},)"
           R"("deadlock":{"mode":"off"},"missing_termination":{"mode":"off"}})");
  s.start("v1", "a", "[]");
  s.output("e1", "v1", R"(["b","z"])");
  s.start("v2", "b", R"(["e1"])");
  s.end("v2", R"({"e1":"discard"})");
  REQUIRE(s.time(29).empty());
  REQUIRE(s.time(30) ==
          strings{R"({"d":"orphaned_event","at":null,"ts":30,"session":null,"event":"e1","agent":null,)"
                  R"("evidence":["b","z"],"total":2,"healed":true,"healing":"reroute","cause":null})",
                  R"({"i":"give:e1:1","action":"reroute","event":"e1","recipients":["a"],"inject":true})"});
  REQUIRE(s.reachable(R"(["e1"])"));
  REQUIRE(s.send(R"("type":"delivery","of":"give:e1:1","applied":"as_is")").empty());
  REQUIRE(s.reachable("[]"));
  REQUIRE(count(s.time(60), R"("evidence":["a","b","z"])") == 1);
}

TEST_CASE("oracle_reports_no_orphan_while_an_open_activation_holds_the_event") {
  script s(R"(,"agents":["a"],"rules":{"orphaned_event":{"window_ms":10},"deadlock":{"mode":"off"}})");
  s.root("e1", R"(["a"])");
  s.start("v1", "a", R"(["e1"])");
  s.send(R"("type":"agent_left","agent":"a")");
  REQUIRE(s.time(50).empty());
  s.send(R"("type":"activation_ended","activation":"v1","failed":true)");
  REQUIRE(s.time(59).empty());
  REQUIRE(count(s.time(60), R"("d":"orphaned_event","at":null,"ts":60)") == 1);
}

TEST_CASE("oracle_reports_no_orphan_if_one_agent_consumed_the_event") {
  script s(R"(,"agents":["a","b"],"rules":{"orphaned_event":{"window_ms":0},"missing_termination":{"mode":"off"}})");
  s.root("e1", R"(["a","b"])");
  s.start("v1", "a", R"(["e1"])");
  s.end("v1");
  s.start("v2", "b", R"(["e1"])");
  s.end("v2", R"({"e1":"discard"})");
  REQUIRE(s.time(10000).empty());
}

TEST_CASE("oracle_fires_due_windows_by_time_then_deadlock_before_orphans_by_event_id") {
  script s(R"(,"agents":["a","b"],"rules":{"orphaned_event":{"window_ms":10},)"
           R"("deadlock":{"window_ms":10,"max_attempts":0}})");
  s.root("e1", R"(["a"])");
  s.root("e3", R"(["b"])");
  s.root("e2", R"(["b"])");
  s.start("v1", "a", "[]");
  s.send(R"("type":"agent_left","agent":"b")");
  s.end("v1");
  const strings answers = s.time(10);
  REQUIRE(answers.size() == 3);
  REQUIRE(fired({answers[0]}, "orphaned_event") == 0);
  REQUIRE(count({answers[1]}, R"("event":"e2")") == 1);
  REQUIRE(count({answers[2]}, R"("event":"e3")") == 1);
}

// --- recording

TEST_CASE("oracle_counts_a_waiting_input_as_reachable_work_but_not_a_lost_one") {
  script s;
  s.root("e1", R"(["a","b"])");
  s.start("v1", "a", R"(["e1"])");
  s.end("v1", R"({"e1":"wait"})");
  s.start("v2", "b", R"(["e1"])");
  s.end("v2");
  REQUIRE(s.reachable(R"(["e1"])"));
  s.send(R"("type":"agent_left","agent":"a")");
  REQUIRE(s.reachable("[]"));
  REQUIRE(count({s.status()}, R"("roster":["b","c"])") == 1);
}

TEST_CASE("oracle_adds_named_agents_to_an_open_roster_but_not_to_a_closed_one") {
  script open("");
  open.root("e1", R"(["x"])");
  open.start("v1", "y", R"(["e1"])");
  open.end("v1", R"({"e1":{"reroute":["z"]}})");
  REQUIRE(count({open.status()}, R"("roster":["x","y","z"])") == 1);
  script closed(R"(,"agents":[])");
  REQUIRE(fired(closed.root("e1", R"(["x"])"), "orphaned_event") == 1);
  closed.start("v1", "y", "[]");
  closed.send(R"("type":"agent_joined","agent":"w")");
  REQUIRE(count({closed.status()}, R"("roster":["w","y"])") == 1);
}

TEST_CASE("oracle_gives_a_settled_event_no_delivery_and_refuses_its_reroute") {
  script s;
  s.root("e1", R"(["a"])");
  s.start("v1", "a", R"(["e1"])");
  s.end("v1");
  s.start("v2", "b", R"(["e1"])");
  REQUIRE(s.reachable("[]"));
  REQUIRE(refused(s.end("v2", R"({"e1":{"reroute":["a"]}})"), "settled_event"));
  REQUIRE(s.end("v2").empty());
}

TEST_CASE("oracle_makes_a_lost_event_pending_again_when_it_is_an_input") {
  script s;
  s.root("e1", R"(["a"])");
  s.send(R"("type":"agent_left","agent":"a")");  // its orphan window runs, so it is not settled
  s.start("v1", "b", R"(["e1"])");
  REQUIRE(s.reachable(R"(["e1"])"));
}

TEST_CASE("oracle_treats_a_placeholder_as_work_and_does_not_judge_its_late_event") {
  script s;
  s.start("v1", "a", R"(["e1"])");
  REQUIRE(s.reachable(R"(["e1"])"));
  REQUIRE(s.root("e1", R"(["a","z","b"])", R"(,"kind":"k")") ==
          strings{R"({"v":2,"session":"main","event":"e1","action":"deliver","recipients":null,"inject":false})"});
  REQUIRE(refused(s.root("e1", "[]"), "duplicate_event"));
  s.end("v1");
  REQUIRE(s.reachable(R"(["e1"])"));  // pending at b
}

TEST_CASE("oracle_lets_a_late_submit_event_through_at_once_and_judges_nothing_beside_it") {
  script s;
  s.start("v0", "b", R"(["e1"])");
  s.start("v1", "a", "[]");
  const strings answers = s.end("v1", "{}", R"([{"id":"e2","recipients":[]},{"id":"e1","submit":true}])");
  REQUIRE(answers.size() == 2);
  REQUIRE(count(answers, "\"action\":\"deliver\"") == 2);
  REQUIRE(s.terminal());
}

TEST_CASE("oracle_has_nothing_pending_active_or_orphaned_after_a_gap") {
  script s(R"(,"agents":["a"],"rules":{"orphaned_event":{"window_ms":0}})");
  s.root("e1", R"(["a"])");
  s.start("v1", "a", R"(["e1"])");
  s.send(R"("type":"gap","dropped":3)");
  REQUIRE(s.status() == R"({"s":{"reachable":[],"active":0,"roster":["a"],"terminal":false,"clock":0}})");
  s.end("v1", R"({"e1":"discard"})");
  REQUIRE(fired(s.time(1), "orphaned_event") == 0);
}

TEST_CASE("oracle_leaves_the_inputs_of_a_failed_activation_unchanged") {
  script s;
  s.root("e1", R"(["a"])");
  s.start("v1", "a", R"(["e1"])");
  s.send(R"("type":"activation_ended","activation":"v1","failed":true,"error":"timeout")");
  REQUIRE(s.reachable(R"(["e1"])"));
}

TEST_CASE("oracle_treats_a_forgotten_id_like_one_never_seen") {
  script s(R"(,"agents":["a"],"limits":{"settled_events":1})");
  s.root("e1", R"(["a"])");
  s.start("v1", "a", R"(["e1"])");
  s.end("v1");
  REQUIRE(refused(s.root("e1", R"(["a"])"), "duplicate_event"));
  s.root("e2", R"(["a"])");
  s.start("v2", "a", R"(["e2"])");
  s.end("v2");
  REQUIRE(refused(s.root("e2", R"(["a"])"), "duplicate_event"));
  REQUIRE(refused(s.send(R"("type":"delivery","event":"e1","applied":"as_is")"), "unknown_event"));
  REQUIRE(refused(s.end("v1"), "unknown_activation"));
  REQUIRE(refused(s.end("v2"), "activation_closed"));
  s.root("e1", R"(["a"])");
  REQUIRE(s.reachable(R"(["e1"])"));
}

TEST_CASE("oracle_ignores_giving_a_pending_event_again_but_counts_a_reroute_to_the_same_agent") {
  script s(R"(,"agents":["a","b"],"rules":{"excessive_rerouting":{"max_reroutes":0}})");
  s.root("e1", R"(["a","b"])");
  s.start("v1", "a", R"(["e1"])");
  REQUIRE(fired(s.end("v1", R"({"e1":{"reroute":["b","a"]}})"), "excessive_rerouting") == 1);
  s.start("v2", "b", R"(["e1"])");
  s.end("v2");
  REQUIRE(s.reachable(R"(["e1"])"));  // pending at a again
  s.start("v3", "a", R"(["e1"])");
  s.end("v3", R"({"e1":"discard"})");
  REQUIRE(s.reachable("[]"));
}

TEST_CASE("oracle_fills_a_settled_placeholder_in_without_a_delivery") {
  script s;
  s.start("v1", "a", R"(["e1"])");
  s.end("v1");
  REQUIRE(count(s.root("e1", R"(["b"])"), "\"action\":\"deliver\"") == 1);
  REQUIRE(s.reachable("[]"));
}

TEST_CASE("oracle_checks_a_message_before_it_handles_what_is_due") {
  script s(R"(,"agents":["a"],"rules":{"deadlock":{"window_ms":5}})");
  s.root("e1", R"(["a"])");
  const strings early =
      s.send(R"("type":"activation_started","activation":"v1","agent":"a","inputs":["sys:1"],"ts":5)");
  REQUIRE(refused(early, "reserved_id"));  // so the deadlock has not been healed yet
  s.time(5);
  REQUIRE(s.start("v1", "a", R"(["sys:1"])").empty());
}

TEST_CASE("oracle_settles_an_event_only_with_the_next_message") {
  script s(R"(,"agents":["a"],"rules":{"orphaned_event":{"window_ms":5}})");
  s.root("e1", R"(["a"])");
  s.send(R"("type":"agent_left","agent":"a")");
  // Its window fires unhealed within this message. It is not settled yet when it becomes an input of b.
  const strings fires = s.send(R"("type":"activation_started","activation":"v1","agent":"b","inputs":["e1"],"ts":5)");
  REQUIRE(fired(fires, "orphaned_event") == 1);
  REQUIRE(s.reachable(R"(["e1"])"));
}
