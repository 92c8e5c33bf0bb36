// Sessions of coding agents, played to an engine: who did what, and what the hooks are answered.
#include "ingest/hooks/session.h"

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <catch2/catch.hpp>

#include "ingest/hooks/read_call.h"
#include "tests/ingest/hooks/hook_calls.h"

using namespace digd;
using namespace digd::tests;
namespace json = boost::json;

namespace {

// The values of a member in all lines that have it.
std::vector<std::string> values_of(const hook_player& in, std::string_view member) {
  std::vector<std::string> values;
  for (const std::string& line : in.lines()) {
    const json::value read = json::parse(line);
    if (const json::value* value = read.get_object().if_contains(member); value != nullptr) {
      values.emplace_back(value->is_string() ? std::string(value->get_string()) : json::serialize(*value));
    }
  }
  return values;
}

json::object label_of(const hook_player& in, std::size_t run) {
  return json::parse(json::parse(values_of(in, "labels").at(run)).is_object() ? values_of(in, "labels").at(run) : "{}")
      .get_object();
}

}  // namespace

TEST_CASE("AResumedSessionContinuesAsAnotherRunWithTheSameLabel") {
  hook_player player(hooks::claude_code);
  play_all(player, {claude("SessionStart", R"("source":"startup")"), claude("UserPromptSubmit", R"("prompt":"go")"),
                    claude("Stop", R"("last_assistant_message":"done")"), claude("SessionEnd"),
                    claude("SessionStart", R"("source":"resume")", "p2"),
                    claude("UserPromptSubmit", R"("prompt":"more","cwd":"/home/dev/shop/","model":"m")", "p2"),
                    claude("Stop", R"("last_assistant_message":"done again")", "p2"), claude("SessionEnd", {}, "p2")});
  REQUIRE(values_of(player, "run") == std::vector<std::string>{"s1/p1", "s1/p2"});
  REQUIRE(values_of(player, "outcome") == std::vector<std::string>{"success", "success"});
  REQUIRE(label_of(player, 0).at("session") == "s1");
  REQUIRE(label_of(player, 1).at("session") == "s1");
  REQUIRE(label_of(player, 1).at("project") == "shop");
  REQUIRE(label_of(player, 1).at("model") == "m");
  REQUIRE(rules_in(player).empty());
}

TEST_CASE("AnAgentOfTheProgramItselfIsNoAgentOfTheRun") {
  hook_player player(hooks::claude_code);
  play_all(player, {claude("UserPromptSubmit", R"("prompt":"go")"),
                    claude("PreToolUse", R"("agent_id":"a1","agent_type":"","tool_name":"Read","tool_use_id":"t1")"),
                    claude("SubagentStop", R"("agent_id":"a1","agent_type":"","last_assistant_message":"a summary")"),
                    claude("Stop", R"("last_assistant_message":"done")"), claude("SessionEnd")});
  REQUIRE(values_of(player, "outcome") == std::vector<std::string>{"success"});
  REQUIRE(values_of(player, "agent") == std::vector<std::string>{"main"});
  REQUIRE(rules_in(player).empty());
}

TEST_CASE("TheStartOfASessionNamesModelAndBranchOfItsRuns") {
  hook_player player(hooks::claude_code);
  play_all(player,
           {claude("SessionStart", R"("source":"startup","model":"m1","digd":{"branch":"b1"})"),
            claude("UserPromptSubmit", R"("prompt":"go")"), claude("Stop", R"("last_assistant_message":"done")"),
            claude("PostModelSwitch", R"("from_model":"m1","to_model":"m2")"),
            claude("UserPromptSubmit", R"("prompt":"more","digd":{"branch":"b2","model":"m1"})", "p2"),
            claude("Stop", R"("last_assistant_message":"done again")", "p2"), claude("SessionEnd", {}, "p2")});
  REQUIRE(label_of(player, 0).at("model") == "m1");
  REQUIRE(label_of(player, 0).at("branch") == "b1");
  REQUIRE(label_of(player, 1).at("branch") == "b2");
  REQUIRE(label_of(player, 1).at("model") == "m2");  // the transcript still names that of the last reply
}

TEST_CASE("AnErrorOfTheModelIsNoAnswer") {
  hook_player player(hooks::claude_code);
  play_all(player, {claude("UserPromptSubmit", R"("prompt":"go")"), claude("StopFailure", R"("error":"rate_limit")"),
                    claude("UserPromptSubmit", R"("prompt":"again")", "p2"),
                    claude("Stop", R"("last_assistant_message":"done")", "p2"), claude("SessionEnd", {}, "p2")});
  REQUIRE(values_of(player, "error") == std::vector<std::string>{"rate_limit"});
  REQUIRE(values_of(player, "outcome") == std::vector<std::string>{"aborted", "success"});
  REQUIRE(rules_in(player).empty());
}

TEST_CASE("AnErrorInOpencodeIsNoAnswerAlthoughTheSessionIsIdle") {
  hook_player player(hooks::opencode);
  const std::string head = R"({"session_id":"s1","prompt_id":"m1","hook_event_name":")";
  play_all(player, {head + R"(chat.message","text":"go"})", head + R"(session.error","error":"aborted"})",
                    head + R"(session.idle","text":""})", head + R"(session.ended"})"});
  REQUIRE(values_of(player, "error") == std::vector<std::string>{"aborted"});
  REQUIRE(values_of(player, "outcome") == std::vector<std::string>{"aborted"});
  REQUIRE(rules_in(player).empty());
}

TEST_CASE("ATurnThatNotifyReportsIsARunOfItsOwn") {
  hook_player player(hooks::codex);
  const std::string notice = R"({"type":"agent-turn-complete","thread-id":"th","turn-id":"t1",)"
                             R"("input-messages":["go"],"last-assistant-message":"done"})";
  play_all(player, {notice});
  REQUIRE(player.run().empty());
  REQUIRE(values_of(player, "run") == std::vector<std::string>{"th/t1"});
  REQUIRE(values_of(player, "outcome") == std::vector<std::string>{"success"});
  const json::object able = json::parse(values_of(player, "capabilities").at(0)).get_object();
  REQUIRE(!able.at("inject").get_bool());
  REQUIRE(!able.at("reroute").get_bool());
}

TEST_CASE("NotifyAddsNothingToATurnThatHooksHaveReported") {
  hook_player player(hooks::codex);
  const std::string head = R"({"session_id":"th","turn_id":"t1","hook_event_name":")";
  play_all(player,
           {head + R"(UserPromptSubmit","prompt":"go"})", head + R"(Stop","last_assistant_message":"done"})",
            R"({"type":"agent-turn-complete","thread-id":"th","turn-id":"t1","last-assistant-message":"done"})"});
  REQUIRE(values_of(player, "run") == std::vector<std::string>{"th/t1"});
  REQUIRE(player.run() == "th/t1");
}

TEST_CASE("AnInterruptedTurnOfCodexEndsWithoutAnAnswer") {
  hook_player player(hooks::codex);
  const std::string head = R"({"session_id":"th","turn_id":"t1","hook_event_name":")";
  play_all(player, {head + R"(UserPromptSubmit","prompt":"go"})", head + R"(Interrupt"})", head + R"(SessionEnd"})"});
  REQUIRE(values_of(player, "error") == std::vector<std::string>{"the user interrupted it"});
  REQUIRE(values_of(player, "outcome") == std::vector<std::string>{"aborted"});
}

TEST_CASE("AReplyCountsForTheSubagentThatActs") {
  run_policy policy;
  policy.defaults.guards.max_outputs = 100;
  hook_player player(hooks::gemini, "enforce", policy);
  const std::string reply = R"("llm_response":{"candidates":[{"finishReason":"STOP"}],)"
                            R"("usageMetadata":{"promptTokenCount":7,"candidatesTokenCount":3}})";
  play_all(player, {hook("BeforeAgent", R"("timestamp":"1","prompt":"go")"), hook("AfterModel", reply),
                    hook("BeforeTool", R"("tool_name":"invoke_agent","tool_input":{"agent_name":"a"})"),
                    hook("AfterModel", reply)});
  std::vector<std::string> used_by;
  for (const std::string& line : player.lines()) {
    const json::object read = json::parse(line).get_object();
    if (hooks::text_of(read, "type") == "usage") used_by.push_back(hooks::text_of(read, "activation"));
  }
  REQUIRE(used_by.size() == 2);
  REQUIRE(used_by[0] != used_by[1]);
  REQUIRE(values_of(player, "usage") ==
          std::vector<std::string>(2, R"({"input_tokens":7,"output_tokens":3,"model_calls":1})"));
}

TEST_CASE("ThreeParallelChildrenOfATypeAreToldApartByTheirToolCalls") {
  hook_player player(hooks::claude_code);
  std::vector<std::string> calls{claude("UserPromptSubmit", R"("prompt":"go")")};
  for (const std::string n : {"1", "2", "3"}) {
    calls.push_back(claude("PreToolUse", R"("tool_name":"Agent","tool_use_id":"t)" + n +
                                             R"(","tool_input":{"prompt":"work )" + n + R"("})"));
  }
  // They start in another order than they were asked for.
  for (const std::string n : {"3", "1", "2"}) {
    calls.push_back(claude("SubagentStart", R"("agent_id":"a)" + n + R"(","agent_type":"general-purpose")"));
  }
  for (const std::string n : {"1", "2", "3"}) {
    calls.push_back(claude("PostToolUse", R"("tool_name":"Agent","tool_use_id":"t)" + n +
                                              R"(","tool_response":{"agentId":"a)" + n +
                                              R"(","status":"async_launched"})"));
  }
  for (const std::string n : {"2", "3", "1"}) {
    calls.push_back(
        claude("SubagentStop", R"("agent_id":"a)" + n + R"(","last_assistant_message":"result )" + n + R"(")"));
    calls.push_back(claude("UserPromptSubmit",
                           R"("prompt":"<task-notification><task-id>a)" + n + R"(</task-id></task-notification>")"));
  }
  calls.push_back(claude("Stop", R"("last_assistant_message":"all done","background_tasks":[])"));
  calls.push_back(claude("SessionEnd"));
  play_all(player, calls);
  REQUIRE(rules_in(player).empty());
  REQUIRE(values_of(player, "outcome") == std::vector<std::string>{"success"});
  // Each result follows from its own task.
  std::map<std::string, std::string> task_to, agent_of;
  std::map<std::string, std::string> result_of;
  for (const std::string& line : player.lines()) {
    const json::object read = json::parse(line).get_object();
    if (const json::object* event = hooks::object_of(read, "event");
        event != nullptr && hooks::text_of(*event, "kind") == "task") {
      task_to[std::string(event->at("recipients").at(0).get_string())] = event->at("payload").at("text").get_string();
    }
    if (hooks::text_of(read, "type") == "activation_started") {
      agent_of[hooks::text_of(read, "activation")] = hooks::text_of(read, "agent");
    }
    if (const json::value* outputs = read.if_contains("outputs"); outputs != nullptr) {
      const json::object& output = outputs->at(0).get_object();
      if (hooks::text_of(output, "kind") == "result") {
        result_of[agent_of[hooks::text_of(read, "activation")]] = output.at("payload").at("text").get_string();
      }
    }
  }
  REQUIRE(task_to.size() == 3);
  for (const auto& [agent, task] : task_to) REQUIRE(result_of[agent].back() == task.back());
}

TEST_CASE("ATeammateInAnotherProcessIsNotWaitedFor") {
  hook_player player(hooks::claude_code);
  play_all(player, {claude("UserPromptSubmit", R"("prompt":"go")"),
                    claude("PreToolUse", R"("tool_name":"SendMessage","tool_use_id":"t1",)"
                                         R"("tool_input":{"to":"far","message":"hello"})"),
                    claude("TaskCreated", R"("task_id":"1","teammate_name":"far","team_name":"team")"),
                    claude("Stop", R"("last_assistant_message":"done")"), claude("SessionEnd")});
  REQUIRE(rules_in(player).empty());
  REQUIRE(values_of(player, "outcome") == std::vector<std::string>{"success"});
}

TEST_CASE("AMessageToTheTeamLeadReachesTheMainAgent") {
  hook_player player(hooks::claude_code);
  play_all(player, {claude("UserPromptSubmit", R"("prompt":"go")"),
                    claude("PreToolUse", R"("tool_name":"Agent","tool_use_id":"t1","tool_input":{"name":"mate"})"),
                    claude("SubagentStart", R"("agent_id":"a1","agent_type":"general-purpose")"),
                    claude("PreToolUse", R"("tool_name":"SendMessage","tool_use_id":"t2","agent_id":"a1",)"
                                         R"("tool_input":{"to":"team-lead","message":"hello"})")});
  const std::string& last = player.lines().back();
  INFO(last);
  REQUIRE(json::parse(last).at("event").at("recipients").at(0) == "main");
}

TEST_CASE("AnEmptySubagentIsBroughtUpOnceAndThenTheAnswerPasses") {
  hook_player player(hooks::claude_code);
  play_all(player, {claude("UserPromptSubmit", R"("prompt":"go")"),
                    claude("PreToolUse", R"("tool_name":"Agent","tool_use_id":"t1","tool_input":{"prompt":"work"})"),
                    claude("SubagentStart", R"("agent_id":"a1","agent_type":"general-purpose")"),
                    claude("SubagentStop", R"("agent_id":"a1")")});
  const auto first = player.play(claude("Stop", R"("last_assistant_message":"done")"));
  REQUIRE(first.answer.find(R"("decision":"block")") != std::string::npos);
  const auto second = player.play(claude("Stop", R"("last_assistant_message":"done","stop_hook_active":true)"));
  REQUIRE(second.answer == "{}");
  REQUIRE(rules_in(player) == std::vector<std::string>{"early_termination"});
}

TEST_CASE("AnAgentIsBlockedAFewTimesOnly") {
  hooks::session session("s1", {.max_blocks = 2, .able = hooks::claude_code.able});
  const auto take = [&](const std::string& body) {
    const hooks::call call = *hooks::read_call(hooks::claude_code, body);
    if (session.needs_run(call)) {
      session.begin_run(call);
      session.joined(0, false, false);
    }
    return session.take(call).judged_seq;
  };
  session.answer(take(claude("UserPromptSubmit", R"("prompt":"go")")), {.action = "deliver"});
  for (const bool is_blocked : {true, true, false}) {
    const hooks::reply reply = session.answer(take(claude("Stop", R"("last_assistant_message":"done")")),
                                              {.action = "reroute", .recipients = {"main"}, .inject = "go on"});
    REQUIRE((reply.action == hooks::reply_action::block) == is_blocked);
  }
}

TEST_CASE("CallsOfARunThatIsNotThereAreIgnored") {
  hook_player player(hooks::claude_code);
  play_all(player, {claude("Stop", R"("last_assistant_message":"done")"), claude("SubagentStop", R"("agent_id":"a1")"),
                    claude("PostToolUse", R"("tool_name":"Bash")"), claude("SessionEnd")});
  REQUIRE(player.lines().empty());
}
