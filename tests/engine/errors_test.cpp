// Every refusal: its code, its field, and which of several errors it reports (docs/protocol.md, "Error codes").
#include <catch2/catch.hpp>

#include "ingest/protocol/decode.h"
#include "tests/engine/scenario.h"

using namespace digd;
using namespace digd::tests;

namespace {

// A run with e1 pending at ada, e0 settled, both inputs of the open v1, v0 ended, and the system event sys:1.
const std::string run_lines = R"(
{"type":"event","event":{"id":"e0","recipients":["bob"]}}
{"type":"activation_started","activation":"v0","agent":"bob","inputs":["e0"]}
{"type":"activation_ended","activation":"v0"}
{"type":"time","ts":10}
{"type":"event","event":{"id":"e1","recipients":["ada"]}}
{"type":"activation_started","activation":"v1","agent":"ada","inputs":["e1","e0"]}
)";
const std::string rules = R"("rules":{"missing_termination":{"window_ms":10,"max_attempts":1}})";

std::string answer_to(const std::string& line, const std::string& hello = {}) {
  scenario s(R"({"type":"hello","agents":["ada","bob"],)" + rules + (hello.empty() ? "" : "," + hello) + "}");
  s.then(run_lines);
  REQUIRE(s.knows("sys:1"));
  REQUIRE(s.errors.empty());
  const std::size_t events = s.graph().remembered_events(), agents = s.graph().agent_count(),
                    roster = s.graph().roster_size();
  const std::vector<std::string> reachable = s.reachable();
  s.then(line);
  if (s.errors.empty()) return "accepted";
  // A refused message uses up its seq and changes nothing else.
  CHECK(s.graph().remembered_events() == events);
  CHECK(s.graph().agent_count() == agents);
  CHECK(s.graph().roster_size() == roster);
  CHECK(s.reachable() == reachable);
  CHECK(s.verdicts.size() == 2);
  CHECK_FALSE(s.errors.front().text.empty());
  s.then(R"({"type":"time"})");
  CHECK(s.errors.size() == 1);
  return s.errors.front().code + ' ' + s.errors.front().field;
}

}  // namespace

TEST_CASE("a_delivery_report_on_an_unknown_event_is_refused") {
  CHECK(answer_to(R"({"type":"delivery","event":"nothing","applied":"as_is"})") == "unknown_event event");
  CHECK(answer_to(R"({"type":"delivery","of":"sys:9","applied":"created"})") == "unknown_event of");
  CHECK(answer_to(R"({"type":"delivery","of":"give:nothing:1","applied":"rerouted"})") == "unknown_event of");
  CHECK(answer_to(R"({"type":"delivery","of":"give:","applied":"rerouted"})") == "unknown_event of");
  CHECK(answer_to(R"({"type":"delivery","of":"sys:1","applied":"created"})") == "accepted");
}

TEST_CASE("unknown_and_closed_activations_are_refused_as_a_source_and_at_their_end") {
  CHECK(answer_to(R"({"type":"event","event":{"id":"e9","source":"v9"}})") == "unknown_activation source");
  CHECK(answer_to(R"({"type":"activation_ended","activation":"v9"})") == "unknown_activation activation");
  CHECK(answer_to(R"({"type":"event","event":{"id":"e9","source":"v0"}})") == "activation_closed source");
  CHECK(answer_to(R"({"type":"activation_ended","activation":"v0"})") == "activation_closed activation");
}

TEST_CASE("an_event_id_that_is_known_or_given_twice_is_refused_as_duplicate") {
  CHECK(answer_to(R"({"type":"event","event":{"id":"e1","recipients":["bob"]}})") == "duplicate_event id");
  CHECK(answer_to(R"({"type":"event","event":{"id":"e0"}})") == "duplicate_event id");
  CHECK(answer_to(R"({"type":"event","event":{"id":"sys:1"}})") == "duplicate_event id");
  CHECK(answer_to(R"({"type":"activation_ended","activation":"v1","outputs":[{"id":"e9"},{"id":"e9"}]})") ==
        "duplicate_event id");
}

TEST_CASE("an_activation_id_that_is_open_or_ended_is_refused_as_duplicate") {
  CHECK(answer_to(R"({"type":"activation_started","activation":"v0","agent":"ada"})") ==
        "duplicate_activation activation");
  CHECK(answer_to(R"({"type":"activation_started","activation":"v1","agent":"ada"})") ==
        "duplicate_activation activation");
}

TEST_CASE("ids_that_begin_with_sys_are_reserved_for_digd") {
  CHECK(answer_to(R"({"type":"event","event":{"id":"sys:2"}})") == "reserved_id id");
  CHECK(answer_to(R"({"type":"event","event":{"id":"sys:"}})") == "reserved_id id");
  CHECK(answer_to(R"({"type":"activation_ended","activation":"v1","outputs":[{"id":"sys:2"}]})") == "reserved_id id");
  CHECK(answer_to(R"({"type":"activation_started","activation":"sys:2","agent":"ada"})") == "reserved_id activation");
  CHECK(answer_to(R"({"type":"activation_started","activation":"v2","agent":"ada","inputs":["sys:2"]})") ==
        "reserved_id inputs");
  CHECK(answer_to(R"({"type":"activation_started","activation":"v2","agent":"ada","inputs":["sys:1"]})") == "accepted");
  CHECK(answer_to(R"({"type":"event","event":{"id":"Sys:2","recipients":["ada"]}})") == "accepted");
}

TEST_CASE("a_reroute_of_a_settled_event_and_a_reaction_to_no_input_are_refused") {
  CHECK(answer_to(R"({"type":"activation_ended","activation":"v1","reactions":{"e0":{"reroute":["bob"]}}})") ==
        "settled_event reactions");
  CHECK(answer_to(R"({"type":"activation_ended","activation":"v1","reactions":{"e0":"wait"}})") == "accepted");
  CHECK(answer_to(R"({"type":"activation_ended","activation":"v1","reactions":{"sys:1":"consume"}})") ==
        "not_an_input reactions");
  CHECK(answer_to(R"({"type":"activation_ended","activation":"v1","reactions":{"nothing":"consume"}})") ==
        "not_an_input reactions");
}

TEST_CASE("a_failed_activation_must_have_neither_outputs_nor_reactions") {
  CHECK(answer_to(R"({"type":"activation_ended","activation":"v1","failed":true,"outputs":[{"id":"e9"}]})") ==
        "failed_with_outputs outputs");
  CHECK(answer_to(R"({"type":"activation_ended","activation":"v1","failed":true,"reactions":{"e1":"consume"}})") ==
        "failed_with_outputs reactions");
  CHECK(answer_to(R"({"type":"activation_ended","activation":"v1","failed":true,"outputs":[],"reactions":{}})") ==
        "accepted");
}

TEST_CASE("a_submit_event_without_a_source_activation_is_refused") {
  CHECK(answer_to(R"({"type":"event","event":{"id":"e9","submit":true}})") == "submit_without_source submit");
}

TEST_CASE("beyond_each_limit_a_message_is_refused_with_its_field_and_at_the_limit_it_is_accepted") {
  const auto limited = [](const std::string& limit, const std::string& line) {
    return answer_to(line, R"("limits":{)" + limit + "}");
  };
  // The run has two agents, two live events (e1, sys:1) and one open activation (v1).
  CHECK(limited(R"("agents":2)", R"({"type":"agent_joined","agent":"cy"})") == "over_limit agent");
  CHECK(limited(R"("agents":2)", R"({"type":"activation_started","activation":"v2","agent":"cy"})") ==
        "over_limit agent");
  CHECK(limited(R"("agents":2)", R"({"type":"event","event":{"id":"e9","recipients":["cy"]}})") == "over_limit agent");
  CHECK(limited(R"("agents":3)", R"({"type":"event","event":{"id":"e9","recipients":["cy","ada"]}})") == "accepted");
  CHECK(limited(R"("agents":2)", R"({"type":"agent_left","agent":"cy"})") == "accepted");
  CHECK(limited(R"("recipients":1)", R"({"type":"event","event":{"id":"e9","recipients":["ada","bob"]}})") ==
        "over_limit recipients");
  CHECK(limited(R"("recipients":1)",
                R"({"type":"activation_ended","activation":"v1","reactions":{"e1":{"reroute":["ada","bob"]}}})") ==
        "over_limit reactions");
  CHECK(limited(R"("recipients":1)", R"({"type":"event","event":{"id":"e9","recipients":["ada","ada"]}})") ==
        "accepted");
  CHECK(limited(R"("inputs":2)",
                R"({"type":"activation_started","activation":"v2","agent":"ada","inputs":["a","b","c"]})") ==
        "over_limit inputs");
  CHECK(limited(R"("inputs":2)",
                R"({"type":"activation_started","activation":"v2","agent":"ada","inputs":["a","b"]})") == "accepted");
  CHECK(limited(R"("open_activations":1)", R"({"type":"activation_started","activation":"v2","agent":"ada"})") ==
        "over_limit activation");
  CHECK(limited(R"("open_activations":2)", R"({"type":"activation_started","activation":"v2","agent":"ada"})") ==
        "accepted");
  CHECK(limited(R"("live_events":2)", R"({"type":"event","event":{"id":"e9"}})") == "over_limit event");
  CHECK(limited(R"("live_events":3)", R"({"type":"event","event":{"id":"e9","recipients":["ada"]}})") == "accepted");
  CHECK(limited(R"("live_events":3)",
                R"({"type":"activation_started","activation":"v2","agent":"ada","inputs":["a","b"]})") ==
        "over_limit event");
}

TEST_CASE("at_the_limit_of_live_events_a_placeholder_may_still_be_filled_in_and_used") {
  scenario s(R"(
{"type":"hello","agents":["ada"],"limits":{"live_events":1}}
{"type":"activation_started","activation":"v1","agent":"ada","inputs":["e1"]}
{"type":"event","event":{"id":"e1","recipients":["ada"]}}
{"type":"activation_started","activation":"v2","agent":"ada","inputs":["e1"]})");
  CHECK(s.errors.empty());
  s.then(R"({"type":"event","event":{"id":"e2","recipients":["ada"]}})");
  CHECK(s.errors.size() == 1);
}

TEST_CASE("after_run_ended_every_message_is_refused") {
  for (const char* line : {R"({"type":"time"})", R"({"type":"agent_joined","agent":"cy"})", R"({"type":"gap"})",
                           R"({"type":"run_ended","outcome":"success"})", R"({"type":"event","event":{"id":"e9"}})"}) {
    scenario s(R"({"type":"hello"})"
               "\n"
               R"({"type":"run_ended","outcome":"success"})");
    s.then(line);
    REQUIRE(s.errors.size() == 1);
    CHECK(s.errors[0].code == "run_closed");
    CHECK(s.errors[0].field.empty());
    CHECK(s.errors[0].seq == 2);
  }
}

TEST_CASE("of_several_errors_the_first_in_the_order_of_the_protocol_is_reported") {
  const std::string limits = R"("limits":{"recipients":1})";
  CHECK(answer_to(R"({"type":"event","event":{"id":"e1","source":"v9","recipients":["a","b"]}})", limits) ==
        "over_limit recipients");
  CHECK(answer_to(R"({"type":"event","event":{"id":"e1","source":"v9"}})") == "unknown_activation source");
  CHECK(answer_to(R"({"type":"event","event":{"id":"e1","source":"v0"}})") == "activation_closed source");
  CHECK(answer_to(R"({"type":"activation_ended","activation":"v0","failed":true,"outputs":[{"id":"sys:7"}]})") ==
        "activation_closed activation");
  CHECK(answer_to(R"({"type":"event","event":{"id":"sys:1","submit":true}})") == "duplicate_event id");
  CHECK(answer_to(R"({"type":"activation_started","activation":"v1","agent":"ada","inputs":["sys:7"]})") ==
        "duplicate_activation activation");
  CHECK(answer_to(R"({"type":"activation_ended","activation":"v1","reactions":{"e0":{"reroute":[]},"x":"wait"},)"
                  R"("outputs":[{"id":"sys:7"}]})") == "reserved_id id");
  CHECK(answer_to(R"({"type":"activation_ended","activation":"v1","reactions":{"x":"wait","e0":{"reroute":[]}}})") ==
        "settled_event reactions");
  CHECK(answer_to(R"({"type":"activation_ended","activation":"v1","failed":true,"reactions":{"x":"wait"}})") ==
        "not_an_input reactions");
  // A field of the wrong type is reported before errors in the values.
  CHECK(answer_to(R"({"type":"event","event":{"id":"e1","source":"v9","recipients":7}})") == "bad_message recipients");
}

TEST_CASE("run_closed_is_reported_only_if_no_other_error_applies") {
  scenario s(R"({"type":"hello"})");
  s.then(run_lines).then(R"({"type":"run_ended","outcome":"aborted"})");
  s.then(R"({"type":"event","event":{"id":"e9","submit":true}})");
  CHECK(s.errors.back().code == "submit_without_source");
  s.then(R"({"type":"activation_ended","activation":"v1","failed":true,"outputs":[{"id":"e9"}]})");
  CHECK(s.errors.back().code == "failed_with_outputs");
  s.then(R"({"type":"event","event":{"id":"e1"}})");
  CHECK(s.errors.back().code == "duplicate_event");
}

TEST_CASE("unreadable_malformed_and_too_large_messages_use_up_the_expected_seq") {
  scenario s(R"({"type":"hello","limits":{"message_bytes":300}})");
  s.then("{\"type\":");
  CHECK(s.errors.back().code == "bad_json");
  CHECK(s.errors.back().seq == 1);
  s.then(R"({"type":"time","seq":0})");
  CHECK(s.errors.back().code == "bad_message");
  CHECK(s.errors.back().field == "seq");
  CHECK(s.errors.back().seq == 2);
  s.then(R"({"type":"time","seq":3,"x":")" + std::string(300, 'x') + "\"}");
  CHECK(s.errors.back().code == "too_large");
  CHECK(s.errors.back().field.empty());
  CHECK(s.errors.back().seq == 3);
  s.then(R"({"type":"nap","seq":4})");
  CHECK(s.errors.back().field == "type");
  s.then("[1]");
  CHECK(s.errors.back().code == "bad_message");
  CHECK(s.errors.back().seq == 5);
  s.then(R"({"type":"agent_joined","agent":"ada","seq":6})");
  CHECK(s.errors.size() == 5);
  CHECK(s.graph().roster_size() == 1);
}

TEST_CASE("bad_seq_names_the_expected_seq_and_changes_nothing") {
  scenario s(R"({"type":"hello"})");
  s.then(R"({"type":"agent_joined","agent":"ada","seq":2})");
  REQUIRE(s.frames.size() == 1);
  CHECK(s.frames[0].starts_with(R"({"type":"error","code":"bad_seq","seq":1,"field":"seq",)"));
  CHECK(s.graph().roster_size() == 0);
  // bad_seq is reported whatever else is wrong with the frame.
  s.then(R"({"type":"event","seq":9,"event":7})");
  CHECK(s.frames[1].starts_with(R"({"type":"error","code":"bad_seq","seq":1,)"));
  s.then(R"({"type":"agent_joined","agent":"ada","seq":1})");
  CHECK(s.graph().roster_size() == 1);
}

TEST_CASE("a_seq_that_was_used_up_is_ignored_even_if_its_message_was_refused") {
  scenario s(R"({"type":"hello"})");
  s.then(R"({"type":"activation_ended","activation":"v1","seq":1})");
  s.then(R"({"type":"agent_joined","agent":"ada","seq":1})");
  CHECK(s.errors.size() == 1);
  CHECK(s.graph().roster_size() == 0);
}

TEST_CASE("a_hello_is_refused_for_its_protocol_and_where_it_contradicts_the_run") {
  ingest::decoder decoder;
  hello out;
  CHECK(decoder.decode_hello(R"({"type":"hello","protocol":2,"run":"r"})", out).code == refusal::unsupported_protocol);

  const run_policy policy;
  const auto decoded = [&](const std::string& members) {
    hello h;
    REQUIRE_FALSE(decoder.decode_hello(R"({"type":"hello","protocol":1,"run":"r",)" + members + "}", h));
    return h;
  };
  const hello first = decoded(R"("mode":"shadow","clock":"trace","rules":{"deadlock":{"window_ms":5}})");
  const run_settings settings = effective_settings(first, policy);
  const auto contradiction_of = [&](const std::string& members) {
    return contradiction(decoded(members), settings, policy);
  };
  CHECK(contradiction_of(R"("labels":{})") == "");
  CHECK(contradiction_of(R"("mode":"shadow","clock":"trace","rules":{"deadlock":{"window_ms":5}})") == "");
  CHECK(contradiction_of(R"("mode":"enforce")") == "mode");
  CHECK(contradiction_of(R"("clock":"wall")") == "clock");
  CHECK(contradiction_of(R"("rules":{"deadlock":{"window_ms":6}})") == "rules");
  CHECK(contradiction_of(R"("rules":{"early_termination":{"kinds":["x"]}})") == "rules");
  CHECK(contradiction_of(R"("clock":"wall","mode":"enforce")") == "clock");
  CHECK(contradiction_of(R"("limits":{"stalled_ms":1},"healing":{"budget":1},"capabilities":{"create":false})") == "");
}
