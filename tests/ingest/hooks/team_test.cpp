// Agent teams of Claude Code: teammates that live on, their messages, and the task list that they share.
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <catch2/catch.hpp>

#include "tests/ingest/hooks/hook_calls.h"

using namespace digd;
using namespace digd::tests;
namespace json = boost::json;

namespace {

using strings = std::vector<std::string>;

// A tool call of an agent (empty: the main agent).
std::string tool(const std::string& hook, const std::string& name, const std::string& use, const std::string& input,
                 const std::string& agent = {}, const std::string& response = "{}") {
  return claude(hook, R"("tool_name":")" + name + R"(","tool_use_id":")" + use + R"(","tool_input":)" + input +
                          R"(,"tool_response":)" + response +
                          (agent.empty() ? std::string() : R"(,"agent_id":")" + agent + '"'));
}

strings called(const std::string& name, const std::string& use, const std::string& input, const std::string& agent = {},
               const std::string& response = "{}") {
  return {tool("PreToolUse", name, use, input, agent), tool("PostToolUse", name, use, input, agent, response)};
}

strings joined(std::initializer_list<strings> parts) {
  strings joined;
  for (const strings& part : parts) joined.insert(joined.end(), part.begin(), part.end());
  return joined;
}

const std::string prompt = claude("UserPromptSubmit", R"("prompt":"go")");
const std::string started = claude("SubagentStart", R"("agent_id":"a1","agent_type":"mate")");
const std::string stopped = claude("SubagentStop", R"("agent_id":"a1","last_assistant_message":"result")");
// The program lists a teammate by another id, and as running while it is idle too.
const std::string with_mate = R"(,"background_tasks":[{"id":"t9","type":"teammate","status":"running"}])";
const std::string main_stops = claude("Stop", R"("last_assistant_message":"done")" + with_mate);
const std::string mate_input = R"({"prompt":"work","name":"mate"})";
const std::string in_process =
    R"({"status":"teammate_spawned","agentId":"a1","name":"mate","tmux_pane_id":"in-process"})";
const strings spawned = called("Agent", "t1", mate_input, {}, in_process);
const strings created = called("TaskCreate", "t2", R"({"subject":"docs","description":"Write them"})", {},
                               R"({"task":{"id":"1","subject":"docs"}})");
const strings given_to_mate =
    called("TaskUpdate", "t3", R"({"taskId":"1","owner":"mate"})", {}, R"({"success":true,"taskId":"1"})");
const strings claimed_by_mate =
    called("TaskUpdate", "t4", R"({"taskId":"1","status":"in_progress"})", "a1", R"({"success":true})");
const strings completed_by_mate =
    called("TaskUpdate", "t5", R"({"taskId":"1","status":"completed"})", "a1", R"({"success":true})");
const std::string end = claude("SessionEnd");

std::vector<json::object> lines_of(const hook_player& in, std::string_view type) {
  std::vector<json::object> found;
  for (const std::string& line : in.lines()) {
    const json::object read = json::parse(line).get_object();
    if (hooks::text_of(read, "type") == type) found.push_back(read);
  }
  return found;
}

// The events with a text, as "recipients kind"; a notice is in brackets.
strings events_with(const hook_player& in, std::string_view text) {
  strings found;
  for (const json::object& line : lines_of(in, "event")) {
    const json::object& event = line.at("event").get_object();
    if (hooks::text_of(event.at("payload").get_object(), "text") != text) continue;
    std::string words;
    for (const json::value& to : event.at("recipients").get_array()) words += std::string(to.get_string()) + ' ';
    words += hooks::text_of(event, "kind");
    found.push_back(hooks::is_true(event, "fyi") ? '(' + words + ')' : words);
  }
  return found;
}

// The agents that had an event with this text as an input.
strings readers_of(const hook_player& in, std::string_view text) {
  std::string id;
  strings readers;
  for (const std::string& line : in.lines()) {
    const json::object read = json::parse(line).get_object();
    const json::object* event = hooks::object_of(read, "event");
    if (const json::value* outputs = read.if_contains("outputs")) event = &outputs->at(0).get_object();
    if (event != nullptr && hooks::text_of(event->at("payload").get_object(), "text") == text) {
      id = hooks::text_of(*event, "id");
    }
    const json::value* inputs = read.if_contains("inputs");
    if (inputs == nullptr) continue;
    for (const json::value& input : inputs->get_array()) {
      if (input.get_string() == id) readers.push_back(hooks::text_of(read, "agent"));
    }
  }
  return readers;
}

std::string outcome_of(const hook_player& in) {
  const auto ended = lines_of(in, "run_ended");
  return ended.size() == 1 ? hooks::text_of(ended[0], "outcome") : std::to_string(ended.size()) + " runs ended";
}

}  // namespace

TEST_CASE("AMainAgentThatPausesWhileATeammateWorksHasNotAnswered") {
  hook_player player(hooks::claude_code);
  // The program wakes the main agent for the teammate's result without a prompt.
  play_all(player, joined({{prompt}, spawned, {started, main_stops, stopped, main_stops, end}}));
  REQUIRE(rules_in(player) == strings{});
  REQUIRE(outcome_of(player) == "success");
  REQUIRE(readers_of(player, "result") == strings{"main"});
}

TEST_CASE("ATeammateThatStartsBeforeItsSpawnReturnsIsTheAgentOfTheSpawn") {
  hook_player player(hooks::claude_code);
  play_all(player, {prompt, spawned[0], started, spawned[1], main_stops, stopped, main_stops, end});
  REQUIRE(rules_in(player) == strings{});
  REQUIRE(lines_of(player, "agent_joined").size() == 1);
}

TEST_CASE("ATeammateThatIsGoneLeavesItsTaskOpen") {
  hook_player player(hooks::claude_code, "shadow");
  const std::string alone = claude("Stop", R"("last_assistant_message":"done","background_tasks":[])");
  play_all(player, joined({{prompt}, spawned, {started, alone, end}}));
  REQUIRE(rules_in(player) == strings{"early_termination"});
}

TEST_CASE("ASpawnedTeammateInAnotherProcessIsNotWaitedFor") {
  hook_player player(hooks::claude_code);
  const std::string elsewhere = R"({"status":"teammate_spawned","agentId":"a1","name":"mate","tmux_pane_id":"%3"})";
  play_all(player, joined({{prompt},
                           called("Agent", "t1", mate_input, {}, elsewhere),
                           called("SendMessage", "t2", R"({"to":"mate","message":"hello"})"),
                           {main_stops, end}}));
  REQUIRE(rules_in(player) == strings{});
  REQUIRE(outcome_of(player) == "success");
}

TEST_CASE("AMessageOfASubagentIsNoPromptOfTheUser") {
  hook_player player(hooks::claude_code);
  const std::string heard = claude("UserPromptSubmit", R"("prompt":"<agent-message from=\"mate\">\nhi")", "p2");
  play_all(player, joined({{prompt},
                           spawned,
                           {started, main_stops},
                           called("SendMessage", "t2", R"({"to":"main","message":"hi"})", "a1"),
                           {heard, stopped},
                           {main_stops, main_stops, end}}));
  REQUIRE(lines_of(player, "hello").size() == 1);
  REQUIRE(rules_in(player) == strings{});
  REQUIRE(outcome_of(player) == "success");
  REQUIRE(readers_of(player, "hi") == strings{"main"});
}

TEST_CASE("AMessageThatWasNotSentIsNotWaitedFor") {
  hook_player player(hooks::claude_code);
  for (const std::string failure : {R"({"success":false})", "PostToolUseFailure", "PermissionDenied"}) {
    DYNAMIC_SECTION(failure) {
      const std::string input = R"({"to":"mate","message":"hi"})";
      const std::string after = failure.front() == '{' ? tool("PostToolUse", "SendMessage", "t2", input, {}, failure)
                                                       : tool(failure, "SendMessage", "t2", input);
      play_all(player, joined({{prompt},
                               spawned,
                               {started, stopped},
                               {tool("PreToolUse", "SendMessage", "t2", input), after, main_stops, end}}));
      REQUIRE(rules_in(player) == strings{});
      REQUIRE(outcome_of(player) == "success");
    }
  }
}

// ---- tasks

TEST_CASE("ATaskThatNobodyHasIsNobodysWork") {
  hook_player player(hooks::claude_code);
  play_all(player, joined({{prompt}, created, {claude("Stop", R"("last_assistant_message":"done")"), end}}));
  REQUIRE(events_with(player, "docs\nWrite them") == strings{"(task)"});
  REQUIRE(rules_in(player) == strings{});
  REQUIRE(outcome_of(player) == "success");
}

TEST_CASE("ATaskThatATeammateClaimsIsItsInputAndItsEndANoticeToTheCreator") {
  hook_player player(hooks::claude_code);
  play_all(
      player,
      joined({{prompt}, created, spawned, {started}, claimed_by_mate, completed_by_mate, {stopped, main_stops, end}}));
  REQUIRE(readers_of(player, "docs\nWrite them") == strings{"mate"});
  REQUIRE(events_with(player, "docs\nWrite them") == strings{"(task)", "(main result)"});
  REQUIRE(rules_in(player) == strings{});
}

TEST_CASE("ATaskThatIsGivenToATeammateIsWorkForIt") {
  hook_player player(hooks::claude_code);
  play_all(player, joined({{prompt},
                           created,
                           spawned,
                           {started},
                           given_to_mate,
                           claimed_by_mate,
                           completed_by_mate,
                           {stopped, main_stops, main_stops, end}}));
  REQUIRE(events_with(player, "docs\nWrite them") == strings{"(task)", "mate task", "(main result)"});
  REQUIRE(rules_in(player) == strings{});
  REQUIRE(outcome_of(player) == "success");
}

TEST_CASE("ATeammateWithATaskIsWokenBeforeTheMainAgentAnswers") {
  hook_player player(hooks::claude_code);
  play_all(player, joined({{prompt},
                           created,
                           spawned,
                           {started, stopped},
                           given_to_mate,
                           {main_stops, started, stopped, main_stops, end}}));
  REQUIRE(rules_in(player) == strings{});
  REQUIRE(outcome_of(player) == "success");
}

TEST_CASE("AnAnswerBeforeATaskThatAnAgentWasGivenIsEarly") {
  // A subagent that has ended is not woken for a task.
  const strings child = joined(
      {called("Agent", "t1", mate_input, {}, R"({"status":"async_launched","agentId":"a1"})"),
       {started, stopped},
       {claude("UserPromptSubmit", R"("prompt":"<task-notification><task-id>a1</task-id></task-notification>")")}});
  const std::string last = claude("Stop", R"("last_assistant_message":"done","background_tasks":[])");
  SECTION("its owner has not begun it") {
    hook_player player(hooks::claude_code, "shadow");
    play_all(player, joined({{prompt}, created, child, given_to_mate, {last, end}}));
    REQUIRE(rules_in(player) == strings{"early_termination"});
  }
  SECTION("somebody else has done it") {
    hook_player player(hooks::claude_code, "shadow");
    const strings by_main =
        called("TaskUpdate", "t6", R"({"taskId":"1","status":"completed"})", {}, R"({"success":true})");
    play_all(player, joined({{prompt}, created, child, given_to_mate, by_main, {last, end}}));
    REQUIRE(rules_in(player) == strings{});
  }
  SECTION("the program refused to give it") {
    hook_player player(hooks::claude_code, "shadow");
    const std::string input = R"({"taskId":"1","owner":"mate"})";
    play_all(player, joined({{prompt},
                             created,
                             child,
                             {tool("PreToolUse", "TaskUpdate", "t3", input),
                              tool("PostToolUse", "TaskUpdate", "t3", input, {}, R"({"success":false})")},
                             {last, end}}));
    REQUIRE(rules_in(player) == strings{});
  }
}

TEST_CASE("ATaskThatWasGivenToANameWaitsForItsAgent") {
  hook_player player(hooks::claude_code);
  play_all(player, joined({{prompt}, created, given_to_mate, spawned, {started, stopped, main_stops, end}}));
  REQUIRE(readers_of(player, "docs\nWrite them") == strings{"mate"});
  REQUIRE(rules_in(player) == strings{});
}

TEST_CASE("AGuardStopsATaskOnItsWayToATeammate") {
  run_policy policy;
  policy.defaults.guards.max_outputs = 1;
  hook_player player(hooks::claude_code, "enforce", policy);
  play_all(player, joined({{prompt}, created, spawned, {started}}));
  const auto denied = player.play(given_to_mate[0]);
  REQUIRE(denied.answer.find(R"("permissionDecision":"deny")") != std::string::npos);
  play_all(player, {stopped, main_stops, end});
  REQUIRE(rules_in(player) == strings{"fan_out"});
}
