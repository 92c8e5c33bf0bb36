#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "ingest/protocol/frames.h"

using namespace digd;

namespace {

using names = std::vector<std::string>;

// The rest of a hello's fields, after the ones that it must have.
std::string hello_with(std::string_view fields) {
  return R"({"type":"hello","protocol":1,"run":"r1",)" + std::string{fields} + "}";
}

}  // namespace

TEST_CASE("a_hello_has_what_it_asks_for", "[decode][hello]") {
  const hello_reading r(valid_frames[14]);
  CHECK(r.refused.code == refusal::none);
  CHECK(r.out.protocol == 1);
  CHECK(r.out.run == "r1");
  CHECK(r.out.session == "main");
  CHECK(r.out.agents == names{"planner", "coder"});
  CHECK(r.out.mode == mode::enforce);
  CHECK(r.out.clock == clock_kind::wall);
  CHECK(r.out.rules[index_of(rule_id::deadlock)].window_ms == 2000);
  CHECK(r.out.rules[index_of(rule_id::cross_lineage_aggregation)].mode == mode::shadow);
  CHECK(r.out.rules[index_of(rule_id::cross_lineage_aggregation)].kinds == names{"solution"});
  CHECK(r.out.budget == 1000);
  CHECK(r.out.limits.stalled_ms == 300'000);
  CHECK_FALSE(r.out.limits.agents.has_value());
  CHECK(r.out.client == "digd-python/0.1");
  REQUIRE(r.out.labels.size() == 2);
  CHECK(r.out.labels[0] == std::pair<std::string, std::string>{"task", "t42"});
  CHECK(r.out.labels[1].second == "7");
}

TEST_CASE("a_hello_that_asks_for_little_gets_the_defaults", "[decode][hello]") {
  const hello_reading r(R"({"type":"hello","protocol":1,"run":"r1"})");
  CHECK(r.refused.code == refusal::none);
  CHECK(r.out.session == "main");
  CHECK_FALSE(r.out.agents.has_value());
  CHECK_FALSE(r.out.mode.has_value());
  CHECK(r.out.able.inject);
  CHECK_FALSE(r.out.witness);
}

TEST_CASE("an_empty_list_of_agents_is_given_not_missing", "[decode][hello]") {
  CHECK(hello_reading(hello_with(R"("agents":[])")).out.agents == names{});
  CHECK(hello_reading(hello_with(R"("agents":["a","b","a"])")).out.agents == names{"a", "b"});
  CHECK_FALSE(hello_reading(hello_with(R"("agents":null)")).out.agents.has_value());
}

TEST_CASE("a_hello_needs_its_protocol_and_its_run", "[decode][hello]") {
  CHECK(hello_refusal_of(R"({"type":"hello","run":"r1"})") == "bad_message protocol");
  CHECK(hello_refusal_of(R"({"type":"hello","protocol":"1","run":"r1"})") == "bad_message protocol");
  CHECK(hello_refusal_of(R"({"type":"hello","protocol":1.0,"run":"r1"})") == "bad_message protocol");
  CHECK(hello_refusal_of(R"({"type":"hello","protocol":2,"run":"r1"})") == "unsupported_protocol protocol");
  CHECK(hello_refusal_of(R"({"type":"hello","protocol":1})") == "bad_message run");
  CHECK(hello_refusal_of(R"({"type":"hello","protocol":1,"run":""})") == "bad_message run");
  CHECK(hello_refusal_of(R"({"type":"time","protocol":1,"run":"r1"})") == "bad_message type");
  CHECK(hello_refusal_of(R"({"protocol":1,"run":"r1"})") == "bad_message type");
}

TEST_CASE("a_bad_field_is_refused_before_an_unsupported_protocol", "[decode][hello]") {
  CHECK(hello_refusal_of(R"({"type":"hello","protocol":2,"run":5})") == "bad_message run");
}

TEST_CASE("a_hellos_fields_are_checked_and_named_by_their_last_name", "[decode][hello]") {
  const std::vector<std::pair<std::string, std::string>> bad{
      {R"("session":"")", "session"},
      {R"("agents":"a")", "agents"},
      {R"("agents":[""])", "agents"},
      {R"("mode":"on")", "mode"},
      {R"("mode":5)", "mode"},
      {R"("clock":"sun")", "clock"},
      {R"("stamped":1)", "stamped"},
      {R"("rules":[])", "rules"},
      {R"("rules":{"deadlok":{}})", "rules"},
      {R"("rules":{"deadlock":5})", "deadlock"},
      {R"("rules":{"deadlock":{},"deadlock":{}})", "deadlock"},
      {R"("rules":{"deadlock":{"mode":"x"}})", "mode"},
      {R"("rules":{"deadlock":{"window_ms":-1}})", "window_ms"},
      {R"("rules":{"deadlock":{"max_attempts":1.5}})", "max_attempts"},
      {R"("rules":{"excessive_rerouting":{"max_reroutes":"2"}})", "max_reroutes"},
      {R"("rules":{"early_termination":{"kinds":"k"}})", "kinds"},
      {R"("rules":{"early_termination":{"kinds":[1]}})", "kinds"},
      {R"("rules":{"early_termination":{"skip_repeated":1}})", "skip_repeated"},
      {R"("rules":{"early_termination":{"text":5}})", "text"},
      {R"("rules":{"early_termination":{"text":")" + std::string(4097, 't') + "\"}}", "text"},
      {R"("healing":5)", "healing"},
      {R"("healing":{"budget":-1})", "budget"},
      {R"("limits":[])", "limits"},
      {R"("limits":{"stalled_ms":-1})", "stalled_ms"},
      {R"("limits":{"sessions":true})", "sessions"},
      {R"("capabilities":{"inject":"yes"})", "inject"},
      {R"("witness":"no")", "witness"},
      {R"("client":"me")", "client"},
      {R"("client":{"name":5})", "name"},
      {R"("labels":[])", "labels"},
      {R"("labels":{"a":{}})", "labels"},
      {R"("labels":{"a":"1","a":"2"})", "labels"},
      {R"("run":"r2")", "run"},
  };
  for (const auto& [fields, name] : bad) {
    CAPTURE(fields);
    CHECK(hello_refusal_of(hello_with(fields)) == "bad_message " + name);
  }
}

TEST_CASE("a_refused_rule_name_comes_with_the_list_of_rules", "[decode][hello]") {
  const hello_reading r(hello_with(R"("rules":{"dead\nlock":{}})"));
  CHECK(r.refused.text.starts_with(R"(rules["dead\nlock"] is not a rule; the rules are early_termination, )"));
}

TEST_CASE("an_option_that_a_rule_does_not_have_is_ignored", "[decode][hello]") {
  const hello_reading r(hello_with(R"("rules":{"early_termination":{"window_ms":"x","max_attempts":7,"more":1}})"));
  CHECK(r.refused.code == refusal::none);
  const rule_request& asked = r.out.rules[index_of(rule_id::early_termination)];
  CHECK_FALSE(asked.window_ms.has_value());
  CHECK(asked.max_attempts == 7);
}

TEST_CASE("the_options_of_guards_are_checked_and_named_by_their_path", "[decode][hello]") {
  const std::vector<std::pair<std::string, std::string>> bad{
      {R"([])", "guards must be an object of guards"},
      {R"({"budget":5})", "guards.budget must be an object"},
      {R"({"budget":{},"budget":{}})", "guards.budget is given twice"},
      {R"({"budget":{"mode":"on"}})", "guards.budget.mode must be off, observe, shadow or enforce"},
      {R"({"budget":{"max_tokens":-1}})", "guards.budget.max_tokens must be an integer from 0 to 2^64 - 1"},
      {R"({"budget":{"max_cost":-1}})", "guards.budget.max_cost must be a number from 0 to 10^12"},
      {R"({"budget":{"per":"team"}})", "guards.budget.per must be run or agent"},
      {R"({"budget":{"per":null,"per":"run"}})", "guards.budget.per is given twice"},
      {R"({"budget":{"warn_at":2}})", "guards.budget.warn_at must be a number from 0 to 1"},
      {R"({"fan_out":{"max_live":"5"}})", "guards.fan_out.max_live must be an integer from 0 to 2^64 - 1"},
      {R"({"repetition":{"window":1001}})", "guards.repetition.window must be an integer from 1 to 1000"},
      {R"({"stall":{"after_ms":-1}})", "guards.stall.after_ms must be an integer from 0 to 2^63 - 1"},
      {R"({"stall":{"action":"hold"}})", "guards.stall.action must be observe or cancel"},
      {R"({"hold_ms":-1})", "guards.hold_ms must be an integer from 0 to 2^63 - 1"},
      {R"({"on_timeout":"keep"})", "guards.on_timeout must be release or return"},
      {R"({"on_timeout":"return","hold_ms":1,"on_timeout":"return"})", "guards.on_timeout is given twice"},
  };
  for (const auto& [guards, text] : bad) {
    CAPTURE(guards);
    CHECK(hello_reading(hello_with("\"guards\":" + guards)).refused.text == text);
  }
}

TEST_CASE("an_option_that_a_guard_does_not_have_is_ignored", "[decode][hello]") {
  const hello_reading r(hello_with(
      R"("guards":{"budget":{"max_depth":"x","more":1,"max_tokens":null,"max_cost":0.5},"fan_out":null,"other":{},)"
      R"("stall":{"after_ms":9}})"));
  CHECK(r.refused.code == refusal::none);
  CHECK_FALSE(r.out.guards.max_depth.has_value());
  CHECK_FALSE(r.out.guards.budget[static_cast<std::size_t>(total_kind::tokens)].has_value());
  CHECK(r.out.guards.budget[static_cast<std::size_t>(total_kind::cost)] == 500'000);
  CHECK(r.out.guards.after_ms == 9);
}

TEST_CASE("every_limit_can_be_asked_for", "[decode][hello]") {
  const hello_reading r(hello_with(
      R"("limits":{"stalled_ms":1,"settled_events":2,"generators":3,"judging_work":12,"message_bytes":4,)"
      R"("reorder_ms":5,"agents":6,"recipients":7,"inputs":8,"live_events":9,"open_activations":10,"sessions":11,)"
      R"("unknown":"x"})"));
  CHECK(r.refused.code == refusal::none);
  CHECK(r.out.limits.stalled_ms == 1);
  CHECK(r.out.limits.settled_events == 2);
  CHECK(r.out.limits.generators == 3);
  CHECK(r.out.limits.judging_work == 12);
  CHECK(r.out.limits.message_bytes == 4);
  CHECK(r.out.limits.reorder_ms == 5);
  CHECK(r.out.limits.agents == 6);
  CHECK(r.out.limits.recipients == 7);
  CHECK(r.out.limits.inputs == 8);
  CHECK(r.out.limits.live_events == 9);
  CHECK(r.out.limits.open_activations == 10);
  CHECK(r.out.limits.sessions == 11);
}

TEST_CASE("labels_are_kept_as_text", "[decode][hello]") {
  const hello_reading r(hello_with(R"("labels":{"s":"x","n":1.50,"b":true,"z":null})"));
  REQUIRE(r.out.labels.size() == 3);
  CHECK(r.out.labels[1].second == "1.50");
  CHECK(r.out.labels[2].second == "true");
}

TEST_CASE("a_hello_lists_what_a_client_cannot_do", "[decode][hello]") {
  const hello_reading r(hello_with(R"("capabilities":{"reroute":false,"create":null})"));
  CHECK(r.out.able.inject);
  CHECK_FALSE(r.out.able.reroute);
  CHECK(r.out.able.create);
}
