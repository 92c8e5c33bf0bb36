// What a run does at each of its limits, by policy: refuse, observe (judged no more), gap (what is pending is
// forgotten).
#include <catch2/catch.hpp>

#include "tests/engine/scenario.h"

using namespace digd;
using namespace digd::tests;
using strings = std::vector<std::string>;

namespace {

// A limit, the hello that makes it small, and lines of which the last one hits it.
struct one_limit {
  limit_id which;
  std::string limits;
  std::string within;  // lines
  std::string over;    // one line, with a blocked event or the start of an activation
};

const std::string begin = R"({"type":"event","event":{"id":"e1","recipients":["ada"]}}
{"type":"activation_started","activation":"v1","agent":"ada","inputs":["e1"]})";

std::vector<one_limit> all_limits() {
  return {
      {limit_id::message_bytes, R"("message_bytes":200)", begin,
       R"({"type":"event","event":{"id":"e2","recipients":["bob"],"payload":")" + std::string(300, 'x') + R"("}})"},
      {limit_id::agents, R"("agents":2)", begin, R"({"type":"event","event":{"id":"e2","recipients":["bob","cy"]}})"},
      {limit_id::recipients, R"("recipients":1)", begin,
       R"({"type":"event","event":{"id":"e2","recipients":["ada","bob"]}})"},
      {limit_id::inputs, R"("inputs":1)", begin,
       R"({"type":"activation_started","activation":"v2","agent":"bob","inputs":["e1","e2"]})"},
      {limit_id::live_events, R"("live_events":1)", begin,
       R"({"type":"event","event":{"id":"e2","recipients":["bob"]}})"},
      {limit_id::open_activations, R"("open_activations":1)", begin,
       R"({"type":"activation_started","activation":"v2","agent":"bob"})"},
  };
}

std::string hello_with(const one_limit& l, limit_policy policy) {
  return R"({"type":"hello","agents":["ada","bob"],"limits":{)" + l.limits + R"(},"over_limit":{")" +
         std::string(to_string(l.which)) + "\":\"" + std::string(to_string(policy)) + "\"}}\n";
}

const std::string lost = R"({"type":"event","event":{"id":"lost","recipients":["ghost"]}})";  // judged: orphaned

}  // namespace

TEST_CASE("every limit that has a choice of policies is tried here") {
  const auto one_limits = all_limits();
  REQUIRE(one_limits.size() == limit_policies::count);
  for (std::size_t i = 0; i < one_limits.size(); ++i) CHECK(one_limits[i].which == static_cast<limit_id>(i));
}

TEST_CASE("refuse: the message that is over a limit is refused, names the limit, and the run goes on") {
  for (const one_limit& l : all_limits()) {
    INFO(to_string(l.which));
    scenario s(hello_with(l, limit_policy::refuse));
    s.then(l.within);
    REQUIRE(s.errors.empty());
    s.then(l.over);
    REQUIRE(s.errors.size() == 1);
    CHECK(s.errors[0].code == (l.which == limit_id::message_bytes ? "too_large" : "over_limit"));
    CHECK_FALSE(s.run().unjudged());
    CHECK(s.graph().open_count() == 1);
  }
}

TEST_CASE("observe: from the message that is over a limit on, the run is judged no more and forgets its graph") {
  for (const one_limit& l : all_limits()) {
    INFO(to_string(l.which));
    scenario s(hello_with(l, limit_policy::observe));
    s.then(l.within).then(l.over);
    CHECK(s.run().unjudged() == l.which);
    CHECK(s.errors.size() == (l.which == limit_id::message_bytes ? 1u : 0u));  // what is not read cannot be delivered
    CHECK(s.graph().all_events().empty());
    CHECK(s.graph().all_activations().empty());
    const std::size_t answered = s.frames.size();
    s.then(lost);
    CHECK(s.told().empty());
    CHECK(s.frames.size() == answered + 1);
    CHECK(s.frames.back() == R"({"type":"verdicts","seq":4,"verdicts":[{"event":"lost","action":"deliver"}]})");
    s.then(R"({"type":"time","ts":100000000})");
    CHECK(s.told().empty());
    CHECK(s.run().next_due() == std::nullopt);
  }
}

TEST_CASE("observe: whatever comes is taken, in the order in which it is named, until the run ends") {
  const one_limit l = all_limits()[5];
  scenario s(hello_with(l, limit_policy::observe));
  s.then(l.within).then(l.over).then(R"(
{"type":"activation_ended","activation":"never seen","reactions":{"e9":{"reroute":["bob"]},"e1":"consume"},"outputs":[{"id":"o1"},{"id":"o2","submit":true}]}
{"type":"delivery","event":"nobody knows","applied":"as_is"}
{"type":"gap","dropped":3}
{"type":"agent_left","agent":"ada"})");
  CHECK(s.errors.empty());
  strings events;
  for (const verdict& v : s.verdicts) {
    CHECK(v.action == action::deliver);
    events.push_back(v.event);
  }
  CHECK(events == strings{"e1", "e9", "o1", "o2"});
  s.then(R"(
{"type":"run_ended","outcome":"success"}
{"type":"time"})");
  REQUIRE(s.errors.size() == 1);
  CHECK(s.errors[0].code == "run_closed");
  CHECK(s.run().ended());
}

TEST_CASE("observe: what was being watched is reported unresolved, and what was due by then still happens") {
  scenario s(R"(
{"type":"hello","agents":["ada","bob"],"rules":{"deadlock":{"window_ms":10}},"limits":{"live_events":1},"over_limit":{"live_events":"observe"}}
{"type":"event","event":{"id":"e1","recipients":["ada"]}}
{"type":"time","ts":10})");
  CHECK(s.told() == strings{"deadlock [e1] create"});
  s.then(R"({"type":"event","ts":15,"event":{"id":"e2","recipients":["bob"]}})");
  CHECK(s.became() == strings{"deadlock sys:1 unresolved at 10"});
}

TEST_CASE("gap: what is pending is forgotten as if the client had said gap, and the message is taken") {
  scenario s(R"(
{"type":"hello","agents":["ada","bob"],"limits":{"live_events":2},"over_limit":{"live_events":"gap"}}
{"type":"event","event":{"id":"e1","recipients":["ada"]}}
{"type":"event","event":{"id":"e2","recipients":["bob"]}}
{"type":"event","event":{"id":"e3","recipients":["bob"]}})");
  CHECK(s.errors.empty());
  CHECK_FALSE(s.run().unjudged());
  CHECK(s.reachable() == strings{"e3"});
  CHECK(s.graph().live_events() == 1);
  s.then(lost);
  CHECK(s.told() == strings{"orphaned_event lost [ghost] not healed: target"});  // it goes on being judged
}

TEST_CASE("gap: where forgetting makes no room the message is refused, and nothing more is forgotten for the next") {
  scenario s(R"(
{"type":"hello","agents":["ada","bob"],"limits":{"live_events":1},"over_limit":{"live_events":"gap"}}
{"type":"event","event":{"id":"e1","recipients":["ada"]}}
{"type":"activation_started","activation":"v1","agent":"ada","inputs":["e1"]}
{"type":"event","event":{"id":"e2","recipients":["bob"]}}
{"type":"event","event":{"id":"e3","recipients":["bob"]}})");
  REQUIRE(s.errors.size() == 2);  // e1 is an input of what is open: it is not settled by a gap
  CHECK(s.errors[0].code == "over_limit");
  CHECK(s.graph().live_events() == 1);
}

TEST_CASE("gap: a message too large to be read counts as an observation that was lost") {
  const one_limit l = all_limits()[0];
  scenario s(hello_with(l, limit_policy::gap));
  s.then(l.within).then(l.over);
  REQUIRE(s.errors.size() == 1);
  CHECK(s.errors[0].code == "too_large");
  CHECK(s.reachable().empty());
  CHECK(s.graph().active_count() == 0);
  CHECK_FALSE(s.run().unjudged());
}

TEST_CASE("a limit line of a trace does what the daemon did then, once") {
  scenario s(R"(
{"type":"hello","agents":["ada"]}
{"type":"event","event":{"id":"e1","recipients":["ada"]}}
{"type":"limit","limit":"overload","policy":"observe","ts":0}
{"type":"limit","limit":"run_bytes","policy":"observe","ts":0})");
  CHECK(s.run().unjudged() == limit_id::overload);
  CHECK(s.problem.empty());
  scenario broken(R"(
{"type":"hello"}
{"type":"limit","limit":"patience","policy":"observe","ts":0})");
  CHECK_FALSE(broken.problem.empty());
}

TEST_CASE("the line that stands for a refused frame is answered as the frame was") {
  scenario s(R"({"type":"hello"})");
  s.then(R"({"type":"refused","seq":1,"code":"too_large","message":"the message has 9 bytes"})");
  REQUIRE(s.errors.size() == 1);
  CHECK(s.errors[0].code == "too_large");
  CHECK(s.frames.back() ==
        R"({"type":"error","code":"too_large","seq":1,"message":"the message has 9 bytes","fatal":false})");
  s.then(R"({"type":"refused","seq":2})");  // of nobody's record: no message
  REQUIRE(s.errors.size() == 2);
  CHECK(s.errors[1].code == "bad_message");
}

TEST_CASE("the policies of a limit are those that make sense for it") {
  CHECK(limit_policies::allows(limit_id::live_events, limit_policy::gap));
  CHECK_FALSE(limit_policies::allows(limit_id::agents, limit_policy::gap));
  CHECK_FALSE(limit_policies::allows(limit_id::sessions, limit_policy::observe));
  scenario s(R"({"type":"hello","over_limit":{"agents":"gap"}})");
  CHECK(s.problem.find("over_limit") != std::string::npos);
}
