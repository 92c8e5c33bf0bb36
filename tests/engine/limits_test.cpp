// What a run does at each of its limits, by policy: refuse the message, observe (stop judging), or gap (forget what is
// pending).
#include <algorithm>
#include <catch2/catch.hpp>

#include "tests/engine/scenario.h"

using namespace digd;
using namespace digd::tests;
using strings = std::vector<std::string>;

namespace {

// A limit, the setting that makes it small, lines within it, and one line beyond it.
struct limit_case {
  limit_id id;
  std::string settings;
  std::string within;  // lines
  std::string beyond;  // one line, with a blocked event or the start of an activation
};

const std::string begin = R"({"type":"event","event":{"id":"e1","recipients":["ada"]}}
{"type":"activation_started","activation":"v1","agent":"ada","inputs":["e1"]})";

std::vector<limit_case> limit_cases() {
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

std::string hello_with(const limit_case& l, limit_policy policy) {
  return R"({"type":"hello","agents":["ada","bob"],"limits":{)" + l.settings + R"(},"over_limit":{")" +
         std::string(to_string(l.id)) + "\":\"" + std::string(to_string(policy)) + "\"}}\n";
}

// Judged, this event is an orphan.
const std::string lost = R"({"type":"event","event":{"id":"lost","recipients":["ghost"]}})";

}  // namespace

TEST_CASE("this_file_tries_every_limit_that_has_a_choice_of_policies") {
  const auto cases = limit_cases();
  REQUIRE(cases.size() == limit_policies::count);
  for (std::size_t i = 0; i < cases.size(); ++i) CHECK(cases[i].id == static_cast<limit_id>(i));
}

TEST_CASE("refuse_rejects_the_message_beyond_the_limit_with_its_name_and_the_run_continues") {
  for (const limit_case& l : limit_cases()) {
    INFO(to_string(l.id));
    scenario s(hello_with(l, limit_policy::refuse));
    s.then(l.within);
    REQUIRE(s.errors.empty());
    s.then(l.beyond);
    REQUIRE(s.errors.size() == 1);
    CHECK(s.errors[0].code == (l.id == limit_id::message_bytes ? "too_large" : "over_limit"));
    CHECK_FALSE(s.run().unjudged());
    CHECK(s.graph().open_count() == 1);
  }
}

TEST_CASE("observe_stops_judging_with_the_message_beyond_the_limit_and_forgets_the_graph") {
  for (const limit_case& l : limit_cases()) {
    INFO(to_string(l.id));
    scenario s(hello_with(l, limit_policy::observe));
    s.then(l.within).then(l.beyond);
    CHECK(s.run().unjudged() == l.id);
    CHECK(s.errors.size() == (l.id == limit_id::message_bytes ? 1u : 0u));  // an unread message has no verdict
    CHECK(s.graph().all_events().empty());
    CHECK(s.graph().all_activations().empty());
    const std::size_t frames_before = s.frames.size();
    s.then(lost);
    CHECK(s.detection_summaries().empty());
    CHECK(s.frames.size() == frames_before + 1);
    CHECK(s.frames.back() == R"({"type":"verdicts","seq":4,"verdicts":[{"event":"lost","action":"deliver"}]})");
    s.then(R"({"type":"time","ts":100000000})");
    CHECK(s.detection_summaries().empty());
    CHECK(s.run().next_due() == std::nullopt);
  }
}

TEST_CASE("when_judging_stopped_every_message_is_accepted_and_delivered_in_order_until_the_run_ends") {
  const limit_case l = limit_cases()[5];
  scenario s(hello_with(l, limit_policy::observe));
  s.then(l.within).then(l.beyond).then(R"(
{"type":"activation_ended","activation":"never seen","reactions":{"e9":{"reroute":["bob"]},"e1":"consume"},)"
                                       R"("outputs":[{"id":"o1"},{"id":"o2","submit":true}]}
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

TEST_CASE("when_judging_stops_watched_healings_are_unresolved_and_windows_due_before_it_still_fire") {
  scenario s(R"(
{"type":"hello","agents":["ada","bob"],"rules":{)"
             R"("deadlock":{"window_ms":10}},"limits":{"live_events":1},"over_limit":{"live_events":"observe"}}
{"type":"event","event":{"id":"e1","recipients":["ada"]}}
{"type":"time","ts":10})");
  CHECK(s.detection_summaries() == strings{"deadlock [e1] create"});
  s.then(R"({"type":"event","ts":15,"event":{"id":"e2","recipients":["bob"]}})");
  CHECK(s.outcome_summaries() == strings{"deadlock sys:1 unresolved at 10"});
}

TEST_CASE("gap_forgets_what_is_pending_like_a_gap_of_the_client_and_accepts_the_message") {
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
  CHECK(s.detection_summaries() == strings{"orphaned_event lost [ghost] not healed: target"});  // judging continues
}

TEST_CASE("gap_refuses_the_message_if_forgetting_makes_no_room_and_forgets_only_once") {
  scenario s(R"(
{"type":"hello","agents":["ada","bob"],"limits":{"live_events":1},"over_limit":{"live_events":"gap"}}
{"type":"event","event":{"id":"e1","recipients":["ada"]}}
{"type":"activation_started","activation":"v1","agent":"ada","inputs":["e1"]}
{"type":"event","event":{"id":"e2","recipients":["bob"]}}
{"type":"event","event":{"id":"e3","recipients":["bob"]}})");
  REQUIRE(s.errors.size() == 2);  // e1 is an input of an open activation, so a gap does not settle it
  CHECK(s.errors[0].code == "over_limit");
  CHECK(s.graph().live_events() == 1);
}

TEST_CASE("gap_treats_a_message_too_large_to_read_as_a_lost_observation") {
  const limit_case l = limit_cases()[0];
  scenario s(hello_with(l, limit_policy::gap));
  s.then(l.within).then(l.beyond);
  REQUIRE(s.errors.size() == 1);
  CHECK(s.errors[0].code == "too_large");
  CHECK(s.reachable().empty());
  CHECK(s.graph().active_count() == 0);
  CHECK_FALSE(s.run().unjudged());
}

TEST_CASE("a_limit_line_of_a_trace_repeats_the_effect_of_the_first_limit_that_was_reached") {
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

TEST_CASE("a_gap_of_the_client_begins_the_judging_again_with_an_empty_graph_and_the_same_roster") {
  scenario s(R"(
{"type":"hello","agents":["ada","bob"],"limits":{"live_events":2},"over_limit":{"live_events":"observe"}}
{"type":"event","event":{"id":"e1","recipients":["ada"]}}
{"type":"event","event":{"id":"e2","recipients":["bob"]}}
{"type":"event","event":{"id":"e3","recipients":["bob"]}}
{"type":"agent_joined","agent":"cleo"}
{"type":"agent_left","agent":"bob"}
{"type":"activation_started","activation":"v1","agent":"dan"}
{"type":"event","event":{"id":"e4","recipients":["ghost"]}})");
  REQUIRE(s.run().unjudged() == limit_id::live_events);
  CHECK(s.detection_summaries().empty());
  s.then(R"({"type":"gap","ts":7})");
  CHECK_FALSE(s.run().unjudged());
  CHECK(s.frames.back() == R"({"type":"judging_resumed","ts":7})");
  CHECK(s.graph().roster_size() == 3);  // ada, cleo, dan
  CHECK(s.graph().live_events() == 0);
  s.then(R"({"type":"activation_ended","activation":"v1"})");
  REQUIRE(s.errors.size() == 1);
  CHECK(s.errors[0].code == "unknown_activation");
  s.then(R"({"type":"event","event":{"id":"e1","recipients":["cleo","dan"]}})");
  CHECK(s.detection_summaries().empty());
  s.then(R"({"type":"event","event":{"id":"e2","recipients":["bob"]}})");
  CHECK(s.detection_summaries() == strings{"orphaned_event e2 [bob] not healed: target"});
}

TEST_CASE("a_run_that_overload_stopped_begins_again_with_its_line_and_not_with_a_gap") {
  scenario s(R"(
{"type":"hello","agents":["ada"]}
{"type":"limit","limit":"overload","policy":"observe","ts":0}
{"type":"gap"})");
  CHECK(s.run().unjudged() == limit_id::overload);
  s.then(R"({"type":"limit","limit":"overload","policy":"resume","ts":5})");
  CHECK_FALSE(s.run().unjudged());
  CHECK(s.frames == strings{R"({"type":"judging_resumed","ts":0})"});  // the trace clock stands
  s.then(R"({"type":"limit","limit":"overload","policy":"resume","ts":5})");
  CHECK(s.frames.size() == 1);
  s.then(lost);
  CHECK(s.detection_summaries() == strings{"orphaned_event lost [ghost] not healed: target"});
  s.then(R"({"type":"limit","limit":"overload","policy":"observe","ts":5})");
  CHECK(s.run().unjudged() == limit_id::overload);
}

TEST_CASE("a_run_that_has_ended_or_has_too_many_agents_stays_unjudged") {
  scenario ended(R"(
{"type":"hello"}
{"type":"limit","limit":"overload","policy":"observe","ts":0}
{"type":"run_ended"}
{"type":"limit","limit":"overload","policy":"resume","ts":0})");
  CHECK(ended.run().unjudged());
  scenario full(R"(
{"type":"hello","limits":{"agents":1}}
{"type":"limit","limit":"overload","policy":"observe","ts":0}
{"type":"agent_joined","agent":"ada"}
{"type":"agent_joined","agent":"bob"}
{"type":"limit","limit":"overload","policy":"resume","ts":0})");
  CHECK(full.run().unjudged());
}

TEST_CASE("a_run_whose_answer_came_while_judging_had_stopped_stays_unjudged") {
  scenario s(R"(
{"type":"hello","agents":["ada"]}
{"type":"activation_started","activation":"v1","agent":"ada"}
{"type":"limit","limit":"overload","policy":"observe","ts":0}
{"type":"event","event":{"id":"e1","source":"v1","submit":true}}
{"type":"limit","limit":"overload","policy":"resume","ts":0}
{"type":"activation_ended","activation":"v1"}
{"type":"time","ts":9999999})");
  CHECK(s.run().terminal());
  CHECK(s.run().unjudged() == limit_id::overload);
  CHECK(s.detection_summaries().empty());
}

TEST_CASE("a_hello_with_more_agents_than_the_limit_leaves_messages_without_new_agents_alone") {
  scenario s(R"(
{"type":"hello","agents":["ada","bob"],"limits":{"agents":1}}
{"type":"event","event":{"id":"e1","recipients":["ada","bob"]}}
{"type":"time","ts":1})");
  CHECK(s.errors.empty());
  s.then(R"({"type":"agent_joined","agent":"cleo"})");
  REQUIRE(s.errors.size() == 1);
  CHECK(s.errors[0].code == "over_limit");
  s.then(R"({"type":"run_ended"})");
  CHECK(s.run().ended());
}

TEST_CASE("interventions_keep_unique_ids_when_judging_begins_again") {
  const std::string orphan = R"(
{"type":"activation_started","activation":"v1","agent":"ada","ts":%}
{"type":"event","event":{"id":"e1","source":"v1","recipients":["bob"]},"ts":%}
{"type":"agent_joined","agent":"bob","ts":%}
{"type":"agent_left","agent":"bob","ts":%}
{"type":"time","ts":%9999})";
  const auto at = [&](char ts) {
    std::string text = orphan;
    std::replace(text.begin(), text.end(), '%', ts);
    return text;
  };
  scenario s(R"({"type":"hello","agents":["ada","bob"]})");
  s.then(at('1')).then(R"({"type":"limit","limit":"overload","policy":"observe","ts":1})");
  s.then(R"({"type":"limit","limit":"overload","policy":"resume","ts":1})")
      .then(R"({"type":"agent_joined","agent":"bob"})");
  s.then(at('3'));
  strings given;
  for (const std::string& frame : s.frames) {
    for (const char* id : {"\"give:e1:1\"", "\"give:e1:2\""}) {
      if (frame.find(id) != std::string::npos) given.push_back(id);
    }
  }
  CHECK(given == strings{"\"give:e1:1\"", "\"give:e1:2\""});
}

TEST_CASE("a_refusal_line_is_answered_like_the_refused_frame") {
  scenario s(R"({"type":"hello"})");
  s.then(R"({"type":"refused","seq":1,"code":"too_large","message":"the message has 9 bytes"})");
  REQUIRE(s.errors.size() == 1);
  CHECK(s.errors[0].code == "too_large");
  CHECK(s.frames.back() ==
        R"({"type":"error","code":"too_large","seq":1,"message":"the message has 9 bytes","fatal":false})");
  s.then(R"({"type":"refused","seq":2})");  // no record has such a line, and it is not a message
  REQUIRE(s.errors.size() == 2);
  CHECK(s.errors[1].code == "bad_message");
}

TEST_CASE("each_limit_allows_only_its_own_policies") {
  CHECK(limit_policies::allows(limit_id::live_events, limit_policy::gap));
  CHECK_FALSE(limit_policies::allows(limit_id::agents, limit_policy::gap));
  CHECK_FALSE(limit_policies::allows(limit_id::sessions, limit_policy::observe));
  scenario s(R"({"type":"hello","over_limit":{"agents":"gap"}})");
  CHECK(s.problem.find("over_limit") != std::string::npos);
}
