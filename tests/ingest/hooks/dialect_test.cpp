// The dialects of coding agents: well-formed and malformed calls, unknown hooks, unknown fields.
#include "ingest/hooks/dialect.h"

#include <array>
#include <catch2/catch.hpp>
#include <set>
#include <string>

#include "ingest/hooks/read_call.h"
#include "ingest/hooks/transcript.h"
#include "tests/ingest/hooks/hook_calls.h"

using namespace digd::hooks;
using digd::tests::hook;

namespace {

constexpr std::array dialects = {&claude_code, &codex, &gemini, &opencode};

call read_well(const dialect& as, const std::string& body) {
  const auto read = read_call(as, body);
  INFO(as.name << ": " << body);
  REQUIRE(read.has_value());
  return *read;
}

bad_call refusal_of(const dialect& as, const std::string& body) {
  const auto read = read_call(as, body);
  INFO(as.name << ": " << body);
  REQUIRE(!read.has_value());
  return read.error();
}

}  // namespace

TEST_CASE("EveryDialectIsFoundByItsName") {
  for (const dialect* each : dialects) REQUIRE(find_dialect(each->name) == each);
  REQUIRE(find_dialect("nobody") == nullptr);
  REQUIRE(dialect_names().size() == dialects.size());
}

TEST_CASE("NoDialectNamesAHookTwice") {
  for (const dialect* each : dialects) {
    std::set<std::string_view> names;
    for (const known_hook& known : each->hooks) REQUIRE(names.insert(known.name).second);
  }
}

TEST_CASE("EveryDocumentedHookIsRead") {
  for (const dialect* each : dialects) {
    for (const known_hook& known : each->hooks) {
      if (known.name == "agent-turn-complete") continue;  // has no session_id; see below
      const call read = read_well(*each, hook(std::string(known.name)));
      REQUIRE(read.kind != call_kind::other);
      REQUIRE(read.session == "s1");
      REQUIRE(each->write(read, {}) == "{}");
    }
  }
}

TEST_CASE("AMalformedCallIsRefusedWithTheField") {
  for (const dialect* each : dialects) {
    REQUIRE(refusal_of(*each, "").message.find("not JSON") != std::string::npos);
    REQUIRE(refusal_of(*each, "{").message.find("not JSON") != std::string::npos);
    REQUIRE(refusal_of(*each, "[]").message == "expected a JSON object");
    REQUIRE(refusal_of(*each, "{}").field == "hook_event_name");
    REQUIRE(refusal_of(*each, R"({"hook_event_name":7,"session_id":"s"})").field == "hook_event_name");
    REQUIRE(refusal_of(*each, R"({"hook_event_name":"x"})").field == "session_id");
    REQUIRE(refusal_of(*each, R"({"hook_event_name":"x","session_id":""})").field == "session_id");
    const std::string long_id(call::max_session_bytes + 1, 's');
    REQUIRE(refusal_of(*each, R"({"hook_event_name":"x","session_id":")" + long_id + "\"}").field == "session_id");
  }
}

TEST_CASE("AnIdThatIsTooLongIsRefused") {
  const std::string id(call::max_id_bytes + 1, 'i');
  for (const dialect* each : {&claude_code, &codex, &opencode}) {
    REQUIRE(refusal_of(*each, hook("Stop", R"("agent_id":")" + id + '"')).field == "agent_id");
  }
  REQUIRE(refusal_of(claude_code, hook("Stop", R"("prompt_id":")" + id + '"')).field == "prompt_id");
  REQUIRE(refusal_of(codex, hook("Stop", R"("turn_id":")" + id + '"')).field == "turn_id");
  REQUIRE(refusal_of(opencode, hook("session.idle", R"("prompt_id":")" + id + '"')).field == "prompt_id");
}

TEST_CASE("AnUnknownHookIsAcceptedAndChangesNothing") {
  for (const dialect* each : dialects) {
    const call read = read_well(*each, hook("SomethingNew", R"("tool_name":[1],"a_new_field":{"x":null})"));
    REQUIRE(read.kind == call_kind::other);
    REQUIRE(each->write(read, {}) == "{}");
  }
}

TEST_CASE("UnknownFieldsAndWrongTypesAreIgnored") {
  const std::string odd =
      R"("a_new_field":[1,{"x":null}],"tool_name":7,"tool_input":"text","tool_response":[],"prompt":{},)"
      R"("last_assistant_message":4,"stop_hook_active":"yes","background_tasks":"none","digd":[],"agent_type":{},)"
      R"("llm_response":[{}],"error":{"name":"x"},"output":9,"prompt_response":null,"timestamp":5)";
  for (const dialect* each : dialects) {
    for (const known_hook& known : each->hooks) {
      if (known.name == "agent-turn-complete") continue;
      const call read = read_well(*each, hook(std::string(known.name), odd));
      REQUIRE(read.text.size() <= 64);
      REQUIRE(read.tool == tool_kind::other);
    }
  }
}

TEST_CASE("TextsAreCutBetweenCharacters") {
  std::string prompt(call::max_text_bytes - 1, 'a');
  prompt += "\u00e9\u00e9";
  const call read = read_well(claude_code, hook("UserPromptSubmit", R"("prompt":")" + prompt + '"'));
  REQUIRE(read.text.size() == call::max_text_bytes - 1);
}

TEST_CASE("ClaudeCodeTellsSpawnsMessagesAndOtherToolsApart") {
  const call spawn = read_well(
      claude_code, hook("PreToolUse", R"("tool_name":"Agent","tool_use_id":"t1","agent_id":"a0",)"
                                      R"("tool_input":{"subagent_type":"Explore","prompt":"look","name":"scout"})"));
  REQUIRE(spawn.tool == tool_kind::spawn);
  REQUIRE(spawn.target == "Explore");
  REQUIRE(spawn.given_name == "scout");
  REQUIRE(spawn.agent == "a0");
  REQUIRE(read_well(claude_code, hook("PreToolUse", R"("tool_name":"Task","tool_input":{})")).target ==
          "general-purpose");
  const call message = read_well(
      claude_code, hook("PreToolUse", R"("tool_name":"SendMessage","tool_input":{"to":"team-lead","message":"hi"})"));
  REQUIRE(message.tool == tool_kind::message);
  REQUIRE(message.target == "team-lead");
  const call other = read_well(claude_code, hook("PreToolUse", R"("tool_name":"Bash","tool_input":{"command":"ls"})"));
  const call same = read_well(claude_code, hook("PreToolUse", R"("tool_name":"Bash","tool_input":{"command":"ls"})"));
  const call differs = read_well(claude_code, hook("PreToolUse", R"("tool_name":"Bash","tool_input":{"command":"l"})"));
  REQUIRE(other.fingerprint == same.fingerprint);
  REQUIRE(other.fingerprint != differs.fingerprint);
}

TEST_CASE("ClaudeCodeTellsANotificationFromAPrompt") {
  const call read = read_well(claude_code, hook("UserPromptSubmit", R"("prompt":"<task-notification><task-id>a1)"
                                                                    R"(</task-id><tool-use-id>t1</tool-use-id>")"));
  REQUIRE(read.kind == call_kind::notification);
  REQUIRE(read.bound_agent == "a1");
  REQUIRE(read.tool_use == "t1");
}

TEST_CASE("ALongerInputOfClaudeCodeWidensNoPermission") {
  const call spawn =
      read_well(claude_code, hook("PreToolUse", R"("tool_name":"Agent","tool_input":{"prompt":"look","model":"m"})"));
  const std::string answer = claude_code.write(spawn, {reply_action::amend_input, "more"});
  REQUIRE(answer == R"({"hookSpecificOutput":{"hookEventName":"PreToolUse",)"
                    R"("updatedInput":{"prompt":"look\n\nmore","model":"m"}}})");
}

TEST_CASE("CodexReportsATurnByNotify") {
  const call read = read_well(codex, R"({"type":"agent-turn-complete","thread-id":"th","turn-id":"tu","cwd":"/p",)"
                                     R"("input-messages":["a",7,"b"],"last-assistant-message":"done"})");
  REQUIRE(read.kind == call_kind::turn_ended);
  REQUIRE(read.session == "th");
  REQUIRE(read.prompt_id == "tu");
  REQUIRE(read.prompt == "a\n\nb");
  REQUIRE(read.text == "done");
  REQUIRE(read_well(codex, R"({"type":"agent-turn-complete","turn-id":"tu"})").session == "tu");
  REQUIRE(read_well(codex, R"({"type":"something-new","thread-id":"th"})").kind == call_kind::other);
  REQUIRE(refusal_of(codex, R"({"type":"agent-turn-complete"})").field == "thread-id");
  REQUIRE(refusal_of(claude_code, R"({"type":"agent-turn-complete","turn-id":"tu"})").field == "hook_event_name");
}

TEST_CASE("ATranscriptOfCodexHasTotals") {
  const std::string count = R"({"type":"event_msg","payload":{"type":"token_count","info":{"total_token_usage":)";
  const transcript_facts facts =
      read_transcript(R"({"type":"turn_context","payload":{"model":"m"}})"
                      "\n" +
                      count +
                      R"({"input_tokens":100,"output_tokens":10}}}})"
                      "\n" +
                      count +
                      R"({"input_tokens":200,"output_tokens":25}}}})"
                      "\n{\"token_count\"\n" +
                      R"({"type":"event_msg","payload":{"type":"token_count","info":null}})");
  REQUIRE(facts.usage == usage_totals{.input_tokens = 200, .output_tokens = 25, .model_calls = 2});
  REQUIRE(facts.model == "m");
}

TEST_CASE("ATranscriptOfClaudeCodeCountsTheLinesOfAReplyOnce") {
  const std::string line =
      R"({"message":{"role":"assistant","id":"r1","model":"m","usage":{"input_tokens":5,"output_tokens":2}}})";
  const transcript_facts facts = read_transcript(line + '\n' + line + "\n{\"usage\":");
  REQUIRE(facts.usage == usage_totals{.input_tokens = 5, .output_tokens = 2, .model_calls = 1});
}

TEST_CASE("RepliesThatTheProgramItselfWroteNameNoModel") {
  const std::string reply = R"({"message":{"role":"assistant","usage":{},"id":)";
  const transcript_facts facts =
      read_transcript(reply + R"("r1","model":"m"}})" + '\n' + reply + R"("r2","model":"<synthetic>"}})");
  REQUIRE(facts.model == "m");
}

TEST_CASE("EachHookNamesTheTranscriptOfTheAgentThatActs") {
  const std::string session = R"("transcript_path":"/p/s.jsonl")";
  const std::string subagent = session + R"(,"agent_id":"a1")";
  CHECK(read_well(claude_code, hook("UserPromptSubmit", session)).transcript == "/p/s.jsonl");
  CHECK(read_well(claude_code, hook("Stop", session)).transcript == "/p/s.jsonl");
  CHECK(read_well(claude_code, hook("PreToolUse", session)).transcript == "/p/s.jsonl");
  CHECK(read_well(claude_code, hook("PreToolUse", subagent)).transcript == "/p/s/subagents/agent-a1.jsonl");
  CHECK(read_well(codex, hook("PreToolUse", subagent)).transcript == "/p/s.jsonl");
  CHECK(read_well(claude_code, hook("SubagentStop", R"("agent_transcript_path":"/p/a.jsonl")")).transcript ==
        "/p/a.jsonl");
  CHECK(read_well(claude_code, hook("PostToolUse", session)).transcript.empty());
  CHECK(read_well(claude_code, hook("PreToolUse", R"("transcript_path":"/p/s.jsonl","agent_id":"../a")"))
            .transcript.empty());
  const std::string counted = session + R"(,"digd":{"usage":{"input_tokens":1}})";
  CHECK(read_well(claude_code, hook("Stop", counted)).transcript.empty());  // `digctl hook` has read it
}

TEST_CASE("ASubagentsPromptOfCodexIsNoPromptOfTheUser") {
  REQUIRE(read_well(codex, hook("UserPromptSubmit", R"("agent_id":"a1")")).kind == call_kind::unused);
}

TEST_CASE("CodexSaysWhichResultsAWaitBrought") {
  const call read =
      read_well(codex, hook("PostToolUse", R"("tool_name":"wait_agent","tool_response":)"
                                           R"("{\"status\":{\"a1\":{\"completed\":\"x\"},\"a2\":\"running\"}}")"));
  REQUIRE(read.results_of == std::vector<std::string>{"a1"});
  REQUIRE(read.fingerprint.empty());
}

TEST_CASE("GeminiCountsAReplyOnceAtItsLastPart") {
  const std::string usage = R"("usageMetadata":{"promptTokenCount":100,"totalTokenCount":110})";
  const std::string part = R"("llm_response":{"candidates":[{"content":{}}],)" + usage + '}';
  REQUIRE(read_well(gemini, hook("AfterModel", part)).kind == call_kind::unused);
  const std::string last = R"("llm_response":{"candidates":[{"finishReason":"STOP"}],)" + usage + '}';
  const call read = read_well(gemini, hook("AfterModel", last));
  REQUIRE(read.kind == call_kind::model_done);
  REQUIRE(read.spent == usage_totals{.input_tokens = 100, .output_tokens = 10, .model_calls = 1});
}

TEST_CASE("GeminiNamesARunByItsTime") {
  const call read = read_well(gemini, hook("BeforeAgent", R"("timestamp":"2026-11-23T14:13:53.689Z","prompt":"go")"));
  REQUIRE(read.prompt_id == "20261123T141353689Z");
}

TEST_CASE("OpencodeTellsASubagentsSessionFromTheUsers") {
  REQUIRE(read_well(opencode, hook("chat.message", R"("text":"go")")).kind == call_kind::prompt);
  REQUIRE(read_well(opencode, hook("chat.message", R"("agent_id":"a1")")).kind == call_kind::agent_started);
  REQUIRE(read_well(opencode, hook("session.idle", R"("agent_id":"a1")")).kind == call_kind::unused);
  REQUIRE(read_well(opencode, hook("session.error", R"("error":"overloaded")")).text == "overloaded");
}
