// Every refusal: its code, its field, and which of several is named (protocol.md, "Error codes").
#include <catch2/catch.hpp>

#include "ingest/protocol/decode.h"
#include "tests/engine/scenario.h"

using namespace digd;
using namespace digd::tests;

namespace {

// A run with one of everything: e1 at ada (open input of v1), e0 settled and an input of v1 too, v0 ended, sys:1.
const std::string world = R"(
{"type":"event","event":{"id":"e0","recipients":["bob"]}}
{"type":"activation_started","activation":"v0","agent":"bob","inputs":["e0"]}
{"type":"activation_ended","activation":"v0"}
{"type":"time","ts":10}
{"type":"event","event":{"id":"e1","recipients":["ada"]}}
{"type":"activation_started","activation":"v1","agent":"ada","inputs":["e1","e0"]}
)";
const std::string rules = R"("rules":{"missing_termination":{"window_ms":10,"max_attempts":1}})";

std::string said_to(const std::string& line, const std::string& hello = {}) {
  scenario s(R"({"type":"hello","agents":["ada","bob"],)" + rules + (hello.empty() ? "" : "," + hello) + "}");
  s.then(world);
  REQUIRE(s.knows("sys:1"));
  REQUIRE(s.errors.empty());
  const std::size_t events = s.graph().remembered_events(), agents = s.graph().agent_count(),
                    roster = s.graph().roster_size();
  const std::vector<std::string> reachable = s.reachable();
  s.then(line);
  if (s.errors.empty()) return "accepted";
  // A refused message changes nothing but its place in the sequence.
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

TEST_CASE("unknown_event: a delivery report on what was never seen") {
  CHECK(said_to(R"({"type":"delivery","event":"nothing","applied":"as_is"})") == "unknown_event event");
  CHECK(said_to(R"({"type":"delivery","of":"sys:9","applied":"created"})") == "unknown_event of");
  CHECK(said_to(R"({"type":"delivery","of":"give:nothing:1","applied":"rerouted"})") == "unknown_event of");
  CHECK(said_to(R"({"type":"delivery","of":"give:","applied":"rerouted"})") == "unknown_event of");
  CHECK(said_to(R"({"type":"delivery","of":"sys:1","applied":"created"})") == "accepted");
}

TEST_CASE("unknown_activation and activation_closed: as a source, and at the end") {
  CHECK(said_to(R"({"type":"event","event":{"id":"e9","source":"v9"}})") == "unknown_activation source");
  CHECK(said_to(R"({"type":"activation_ended","activation":"v9"})") == "unknown_activation activation");
  CHECK(said_to(R"({"type":"event","event":{"id":"e9","source":"v0"}})") == "activation_closed source");
  CHECK(said_to(R"({"type":"activation_ended","activation":"v0"})") == "activation_closed activation");
}

TEST_CASE("duplicate_event: known, the monitor's own, and twice in a message") {
  CHECK(said_to(R"({"type":"event","event":{"id":"e1","recipients":["bob"]}})") == "duplicate_event id");
  CHECK(said_to(R"({"type":"event","event":{"id":"e0"}})") == "duplicate_event id");
  CHECK(said_to(R"({"type":"event","event":{"id":"sys:1"}})") == "duplicate_event id");
  CHECK(said_to(R"({"type":"activation_ended","activation":"v1","outputs":[{"id":"e9"},{"id":"e9"}]})") ==
        "duplicate_event id");
}

TEST_CASE("duplicate_activation: open or ended") {
  CHECK(said_to(R"({"type":"activation_started","activation":"v0","agent":"ada"})") ==
        "duplicate_activation activation");
  CHECK(said_to(R"({"type":"activation_started","activation":"v1","agent":"ada"})") ==
        "duplicate_activation activation");
}

TEST_CASE("reserved_id: what begins with sys: is the monitor's own") {
  CHECK(said_to(R"({"type":"event","event":{"id":"sys:2"}})") == "reserved_id id");
  CHECK(said_to(R"({"type":"event","event":{"id":"sys:"}})") == "reserved_id id");
  CHECK(said_to(R"({"type":"activation_ended","activation":"v1","outputs":[{"id":"sys:2"}]})") == "reserved_id id");
  CHECK(said_to(R"({"type":"activation_started","activation":"sys:2","agent":"ada"})") == "reserved_id activation");
  CHECK(said_to(R"({"type":"activation_started","activation":"v2","agent":"ada","inputs":["sys:2"]})") ==
        "reserved_id inputs");
  CHECK(said_to(R"({"type":"activation_started","activation":"v2","agent":"ada","inputs":["sys:1"]})") == "accepted");
  CHECK(said_to(R"({"type":"event","event":{"id":"Sys:2","recipients":["ada"]}})") == "accepted");
}

TEST_CASE("settled_event and not_an_input: reactions to what cannot be reacted to") {
  CHECK(said_to(R"({"type":"activation_ended","activation":"v1","reactions":{"e0":{"reroute":["bob"]}}})") ==
        "settled_event reactions");
  CHECK(said_to(R"({"type":"activation_ended","activation":"v1","reactions":{"e0":"wait"}})") == "accepted");
  CHECK(said_to(R"({"type":"activation_ended","activation":"v1","reactions":{"sys:1":"consume"}})") ==
        "not_an_input reactions");
  CHECK(said_to(R"({"type":"activation_ended","activation":"v1","reactions":{"nothing":"consume"}})") ==
        "not_an_input reactions");
}

TEST_CASE("failed_with_outputs: a failed activation says nothing more") {
  CHECK(said_to(R"({"type":"activation_ended","activation":"v1","failed":true,"outputs":[{"id":"e9"}]})") ==
        "failed_with_outputs outputs");
  CHECK(said_to(R"({"type":"activation_ended","activation":"v1","failed":true,"reactions":{"e1":"consume"}})") ==
        "failed_with_outputs reactions");
  CHECK(said_to(R"({"type":"activation_ended","activation":"v1","failed":true,"outputs":[],"reactions":{}})") ==
        "accepted");
}

TEST_CASE("submit_without_source: an answer comes from an activation") {
  CHECK(said_to(R"({"type":"event","event":{"id":"e9","submit":true}})") == "submit_without_source submit");
}

TEST_CASE("over_limit: each limit with its field, one below it is accepted") {
  const auto limited = [](const std::string& limit, const std::string& line) {
    return said_to(line, R"("limits":{)" + limit + "}");
  };
  // ada, bob; e1 and sys:1 are live; v1 is open.
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

TEST_CASE("over_limit: at the limit of live events, what is live already may still be filled in and used") {
  scenario s(R"(
{"type":"hello","agents":["ada"],"limits":{"live_events":1}}
{"type":"activation_started","activation":"v1","agent":"ada","inputs":["e1"]}
{"type":"event","event":{"id":"e1","recipients":["ada"]}}
{"type":"activation_started","activation":"v2","agent":"ada","inputs":["e1"]})");
  CHECK(s.errors.empty());
  s.then(R"({"type":"event","event":{"id":"e2","recipients":["ada"]}})");
  CHECK(s.errors.size() == 1);
}

TEST_CASE("run_closed: after run_ended nothing is taken") {
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

TEST_CASE("of several errors the first in the protocol's list is named") {
  const std::string limits = R"("limits":{"recipients":1})";
  CHECK(said_to(R"({"type":"event","event":{"id":"e1","source":"v9","recipients":["a","b"]}})", limits) ==
        "over_limit recipients");
  CHECK(said_to(R"({"type":"event","event":{"id":"e1","source":"v9"}})") == "unknown_activation source");
  CHECK(said_to(R"({"type":"event","event":{"id":"e1","source":"v0"}})") == "activation_closed source");
  CHECK(said_to(R"({"type":"activation_ended","activation":"v0","failed":true,"outputs":[{"id":"sys:7"}]})") ==
        "activation_closed activation");
  CHECK(said_to(R"({"type":"event","event":{"id":"sys:1","submit":true}})") == "duplicate_event id");
  CHECK(said_to(R"({"type":"activation_started","activation":"v1","agent":"ada","inputs":["sys:7"]})") ==
        "duplicate_activation activation");
  CHECK(
      said_to(
          R"({"type":"activation_ended","activation":"v1","reactions":{"e0":{"reroute":[]},"x":"wait"},"outputs":[{"id":"sys:7"}]})") ==
      "reserved_id id");
  CHECK(said_to(R"({"type":"activation_ended","activation":"v1","reactions":{"x":"wait","e0":{"reroute":[]}}})") ==
        "settled_event reactions");
  CHECK(said_to(R"({"type":"activation_ended","activation":"v1","failed":true,"reactions":{"x":"wait"}})") ==
        "not_an_input reactions");
  // A bad field comes before what it says.
  CHECK(said_to(R"({"type":"event","event":{"id":"e1","source":"v9","recipients":7}})") == "bad_message recipients");
}

TEST_CASE("of several errors run_closed is the last") {
  scenario s(R"({"type":"hello"})");
  s.then(world).then(R"({"type":"run_ended","outcome":"aborted"})");
  s.then(R"({"type":"event","event":{"id":"e9","submit":true}})");
  CHECK(s.errors.back().code == "submit_without_source");
  s.then(R"({"type":"activation_ended","activation":"v1","failed":true,"outputs":[{"id":"e9"}]})");
  CHECK(s.errors.back().code == "failed_with_outputs");
  s.then(R"({"type":"event","event":{"id":"e1"}})");
  CHECK(s.errors.back().code == "duplicate_event");
}

TEST_CASE("bad_json, bad_message and too_large use up the seq expected") {
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

TEST_CASE("bad_seq names the seq expected and changes nothing") {
  scenario s(R"({"type":"hello"})");
  s.then(R"({"type":"agent_joined","agent":"ada","seq":2})");
  REQUIRE(s.frames.size() == 1);
  CHECK(s.frames[0].starts_with(R"({"type":"error","code":"bad_seq","seq":1,"field":"seq",)"));
  CHECK(s.graph().roster_size() == 0);
  // Whatever else is wrong with that frame.
  s.then(R"({"type":"event","seq":9,"event":7})");
  CHECK(s.frames[1].starts_with(R"({"type":"error","code":"bad_seq","seq":1,)"));
  s.then(R"({"type":"agent_joined","agent":"ada","seq":1})");
  CHECK(s.graph().roster_size() == 1);
}

TEST_CASE("a seq that was used up is ignored, also if the message was refused") {
  scenario s(R"({"type":"hello"})");
  s.then(R"({"type":"activation_ended","activation":"v1","seq":1})");
  s.then(R"({"type":"agent_joined","agent":"ada","seq":1})");
  CHECK(s.errors.size() == 1);
  CHECK(s.graph().roster_size() == 0);
}

TEST_CASE("hello: refused for its protocol, and where it contradicts the run") {
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
  const run_settings holds = settle(first, policy);
  const auto against = [&](const std::string& members) { return contradiction(decoded(members), holds, policy); };
  CHECK(against(R"("labels":{})") == "");
  CHECK(against(R"("mode":"shadow","clock":"trace","rules":{"deadlock":{"window_ms":5}})") == "");
  CHECK(against(R"("mode":"enforce")") == "mode");
  CHECK(against(R"("clock":"wall")") == "clock");
  CHECK(against(R"("rules":{"deadlock":{"window_ms":6}})") == "rules");
  CHECK(against(R"("rules":{"early_termination":{"kinds":["x"]}})") == "rules");
  CHECK(against(R"("clock":"wall","mode":"enforce")") == "clock");
  CHECK(against(R"("limits":{"stalled_ms":1},"healing":{"budget":1},"capabilities":{"create":false})") == "");
}
