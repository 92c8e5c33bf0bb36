// Session logs into traces: recorded logs of the programs, and lines that no healthy program writes. What is detected
// in the recorded ones is tested in tests/hooks, with digctl.
#include "ingest/hooks/session_log.h"

#include <catch2/catch.hpp>
#include <filesystem>

#include "ingest/hooks/log_calls.h"
#include "ingest/protocol/replay.h"
#include "tests/ingest/importers/trace_check.h"

// The helpers of tests have alike names; a unity build compiles several files as one.
namespace session_log_tests {

using namespace digd::hooks;
using importer_tests::parsed;
using importer_tests::read_file;
using importer_tests::text;

namespace {

namespace fs = std::filesystem;
namespace json = boost::json;

std::vector<log_file> files_below(const fs::path& folder) {
  std::vector<log_file> files;
  for (const auto& each : fs::recursive_directory_iterator(folder)) {
    if (each.path().extension() != ".jsonl") continue;
    log_file file;
    file.name = each.path().filename().string();
    file.text = read_file(each.path());
    files.push_back(std::move(file));
  }
  return files;
}

log_file log_of(std::initializer_list<const char*> lines) {
  log_file file;
  file.name = "log";
  for (const char* line : lines) (file.text += line) += '\n';
  return file;
}

// Why the engine refuses a line of the traces; empty: it takes them.
std::string refused(const imported_session& session) {
  std::string problem;
  for (const imported_run& run : session.runs) {
    digd::ingest::replay through(digd::run_policy{}, {.record = [&](const digd::ingest::record& record) {
                                   if (record.answer.refused) problem = record.answer.refused.text;
                                 }});
    for (const std::string& line : run.lines) {
      if (!through.line(line)) problem = through.problem();
    }
  }
  return problem;
}

std::int64_t sum(const imported_run& run, const char* member) {
  std::int64_t total = 0;
  for (const json::object& line : parsed(run.lines)) {
    const json::object* usage = object_of(line, "usage");
    if (usage != nullptr) total += count_of(*usage, member);
  }
  return total;
}

std::vector<std::string> kinds(const imported_run& run) {
  std::vector<std::string> found;
  for (const json::object& line : parsed(run.lines)) {
    if (const json::object* event = object_of(line, "event")) found.push_back(text_of(*event, "kind"));
    const json::value* outputs = line.if_contains("outputs");
    if (outputs == nullptr) continue;
    for (const json::value& output : outputs->as_array()) found.push_back(text_of(output.as_object(), "kind"));
  }
  return found;
}

constexpr const char* codex_thread =
    R"({"timestamp":"2026-11-23T10:00:00.000Z","type":"session_meta","payload":{"id":"s","cwd":"/p")"
    R"(,"git":{"branch":"b"}}})";
constexpr const char* codex_turn =
    R"({"timestamp":"2026-11-23T10:00:01.000Z","type":"event_msg","payload":{"type":"task_started","turn_id":"t1"}})";
constexpr const char* codex_prompt =
    R"({"timestamp":"2026-11-23T10:00:02.000Z","type":"event_msg","payload":{"type":"user_message","message":"go"}})";
constexpr const char* codex_end =
    R"({"timestamp":"2026-11-23T10:00:09.000Z","type":"event_msg","payload":{"type":"task_complete")"
    R"(,"turn_id":"t1","last_agent_message":"done"}})";

}  // namespace

TEST_CASE("Recorded logs of Codex and Gemini CLI become traces that the engine takes", "[session_log]") {
  const fs::path recorded = fs::path(DIGD_SOURCE_DIR) / "tests/hooks/recorded_logs";
  for (const log_program& program : log_programs) {
    if (program.name != "codex" && program.name != "gemini") continue;
    for (const auto& scenario : fs::directory_iterator(recorded / program.name)) {
      CAPTURE(scenario.path());
      const imported_session session = program.import("s", files_below(scenario.path()), {});
      REQUIRE(session.runs.size() == 1);
      CHECK(session.damaged_lines == 0);
      CHECK(refused(session).empty());
      CHECK(kinds(session.runs[0]).back() == "answer");
    }
  }
}

TEST_CASE("A damaged line is named and the rest is read", "[session_log]") {
  const log_file file = log_of({codex_thread, codex_turn, codex_prompt, "{\"torn", "", "[]", codex_end});
  const imported_session session = import_codex_log("s", {file});
  REQUIRE(session.damaged.size() == 2);
  CHECK(session.damaged[0].file == "log");
  CHECK(session.damaged[0].line == 4);
  CHECK(session.damaged[0].reason.starts_with("no JSON: "));
  CHECK(session.damaged[1].line == 6);
  CHECK(session.damaged[1].reason == "expected a JSON object");
  REQUIRE(session.runs.size() == 1);
  CHECK(kinds(session.runs[0]) == std::vector<std::string>{"prompt", "answer"});
}

TEST_CASE("Many damaged lines are counted and the first are named", "[session_log]") {
  log_file file;
  for (int i = 0; i < 100; ++i) file.text += "x\n";
  const imported_session session = import_gemini_log("s", {file});
  CHECK(session.damaged_lines == 100);
  CHECK(session.damaged.size() == imported_session::max_damaged);
}

// A line of Claude Code's log at a second of the minute.
std::string claude_line(int second, const char* type, const std::string& message, const std::string& more = {}) {
  const std::string seconds = (second < 10 ? "0" : "") + std::to_string(second);
  return R"({"timestamp":"2026-11-24T10:00:)" + seconds + R"(.000Z","promptId":"p1","type":")" + type +
         R"(","message":)" + message + more + '}';
}

std::string claude_prompt(int second, const std::string& content) {
  return claude_line(second, "user", R"({"role":"user","content":")" + content + R"("})");
}

std::string claude_reply(int second, const std::string& block, const char* stop_reason) {
  return claude_line(second, "assistant",
                     R"({"role":"assistant","id":"m)" + std::to_string(second) + R"(","content":[)" + block +
                         R"(],"stop_reason":")" + stop_reason + R"("})");
}

std::string claude_text(const std::string& text) { return R"({"type":"text","text":")" + text + R"("})"; }

std::string lines_of(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + '\n';
  return text;
}

TEST_CASE("A command that Claude Code runs itself is not a run", "[session_log]") {
  log_file file;
  const std::string summary =
      claude_line(1, "user", R"({"role":"user","content":"so far"})", R"(,"isCompactSummary":true)");
  file.text = lines_of({summary, claude_prompt(2, "<command-name>/compact</command-name>"),
                        claude_prompt(3, "<local-command-stdout>Compacted</local-command-stdout>")});
  CHECK(import_claude_log("s", {file}).runs.empty());
  // The model that a line between names is not that of the next prompt.
  const std::string between = claude_reply(3, claude_text("Compacting."), "tool_use");
  file.text = lines_of({claude_prompt(2, "<command-name>/compact</command-name>"), between,
                        claude_prompt(4, "<local-command-stdout>Compacted</local-command-stdout>")});
  CHECK(import_claude_log("s", {file}).runs.empty());
  // A command that asks the model is a prompt.
  file.text = lines_of(
      {claude_prompt(2, "<command-name>/review</command-name>"), claude_reply(3, claude_text("Fine."), "end_turn")});
  const imported_session session = import_claude_log("s", {file});
  REQUIRE(session.runs.size() == 1);
  CHECK(kinds(session.runs[0]) == std::vector<std::string>{"prompt", "answer"});
}

TEST_CASE("A reply without a text that Claude Code asks for again is not a stop", "[session_log]") {
  const std::string spawn = R"({"type":"tool_use","id":"t1","name":"Agent","input":{"prompt":"work"}})";
  log_file main, child;
  main.text = lines_of({claude_prompt(1, "go"), claude_reply(2, spawn, "tool_use"),
                        claude_reply(3, claude_text("It works."), "end_turn")});
  child.agent = "a1";
  child.agent_type = "general-purpose";
  child.tool_use = "t1";
  const std::string again = claude_line(6, "user", R"({"role":"user","content":"continue"})", R"(,"isMeta":true)");
  child.text = lines_of({claude_prompt(4, "work"), claude_reply(5, claude_text(""), "end_turn"), again,
                         claude_reply(7, claude_text(""), "end_turn")});
  const auto ends = [](const imported_session& in) {
    std::size_t failed = 0;
    for (const auto& line : parsed(in.runs.at(0).lines)) failed += line.contains("failed") ? 1 : 0;
    return failed;
  };
  CHECK(ends(import_claude_log("s", {main, child})) == 1);
  child.text = lines_of({claude_prompt(4, "work"), claude_reply(5, claude_text(""), "end_turn"), again,
                         claude_reply(7, claude_text("result"), "end_turn")});
  CHECK(ends(import_claude_log("s", {main, child})) == 0);
}

TEST_CASE("A subagent reads the result of its own subagent, although its log has no status", "[session_log]") {
  const auto spawn = [](const std::string& id, const std::string& prompt) {
    return R"({"type":"tool_use","id":")" + id + R"(","name":"Agent","input":{"prompt":")" + prompt + R"("}})";
  };
  const std::string result =
      R"({"role":"user","content":[{"type":"tool_result","tool_use_id":"t2","content":[{"type":"text","text":"r2"}]}]})";
  log_file main, child, grandchild;
  main.text =
      lines_of({claude_prompt(1, "go"), claude_reply(2, spawn("t1", "outer"), "tool_use"),
                claude_line(3, "user", R"({"role":"user","content":[{"type":"tool_result","tool_use_id":"t1"}]})",
                            R"(,"toolUseResult":{"status":"async_launched","agentId":"a1"})"),
                claude_reply(4, claude_text("It works."), "end_turn")});
  child.agent = "a1";
  child.agent_type = grandchild.agent_type = "general-purpose";
  child.tool_use = "t1";
  child.text = lines_of({claude_prompt(5, "outer"), claude_reply(6, spawn("t2", "inner"), "tool_use"),
                         claude_line(9, "user", result), claude_reply(10, claude_text("r1"), "end_turn")});
  grandchild.agent = "a2";
  grandchild.tool_use = "t2";
  grandchild.text = lines_of({claude_prompt(7, "inner"), claude_reply(8, claude_text("r2"), "end_turn")});
  const imported_session session = import_claude_log("s", {main, child, grandchild});
  REQUIRE(session.runs.size() == 1);
  std::string inner;
  bool is_read = false;
  for (const auto& line : parsed(session.runs[0].lines)) {
    for (const auto& output : line.contains("outputs") ? line.at("outputs").as_array() : json::array()) {
      if (text(output.at("payload").at("text")) == "r2") inner = text(output.at("id"));
    }
    for (const auto& input : line.contains("inputs") ? line.at("inputs").as_array() : json::array()) {
      is_read = is_read || text(input) == inner;
    }
  }
  CHECK(is_read);
}

TEST_CASE("A Codex turn that was interrupted ends its run as aborted", "[session_log]") {
  const char* aborted = R"({"timestamp":"2026-11-23T10:00:04.000Z","type":"event_msg","payload":{"type":"turn_aborted")"
                        R"(,"turn_id":"t1"}})";
  const imported_session session = import_codex_log("s", {log_of({codex_thread, codex_turn, codex_prompt, aborted})});
  REQUIRE(session.runs.size() == 1);
  CHECK(text(parsed(session.runs[0].lines).back().at("outcome")) == "aborted");
}

TEST_CASE("A line of a log counts even if a value in it nests deeply", "[session_log]") {
  const std::string deep = std::string(500, '[') + std::string(500, ']');
  const std::string aborted = R"({"timestamp":"2026-11-23T10:00:04.000Z","type":"event_msg","payload":{)"
                              R"("type":"turn_aborted","turn_id":"t1","details":)" +
                              deep + "}}";
  const imported_session session =
      import_codex_log("s", {log_of({codex_thread, codex_turn, codex_prompt, aborted.c_str()})});
  REQUIRE(session.runs.size() == 1);
  CHECK(text(parsed(session.runs[0].lines).back().at("outcome")) == "aborted");
}

TEST_CASE("Codex logs without usage records have totals, and each new total is a model call", "[session_log]") {
  const char* first = R"({"timestamp":"2026-11-23T10:00:03.000Z","type":"event_msg","payload":{"type":"token_count")"
                      R"(,"info":{"total_token_usage":{"input_tokens":10,"output_tokens":1}}}})";
  const char* second = R"({"timestamp":"2026-11-23T10:00:04.000Z","type":"event_msg","payload":{"type":"token_count")"
                       R"(,"info":{"total_token_usage":{"input_tokens":30,"output_tokens":2}}}})";
  const imported_session session =
      import_codex_log("s", {log_of({codex_thread, codex_turn, codex_prompt, first, first, second, codex_end})});
  REQUIRE(session.runs.size() == 1);
  CHECK(sum(session.runs[0], "model_calls") == 2);
  CHECK(sum(session.runs[0], "input_tokens") == 30);
  CHECK(text(parsed(session.runs[0].lines)[0].at("labels").at("branch")) == "b");
}

TEST_CASE("The copy of the parent's conversation in a Codex subagent's log is not its own work", "[session_log]") {
  const log_file child = log_of({
      R"({"timestamp":"2026-11-23T10:00:03.000Z","type":"session_meta","payload":{"id":"c")"
      R"(,"source":{"subagent":{"thread_spawn":{"parent_thread_id":"s"}}}}})",
      R"({"timestamp":"2026-11-23T10:00:03.000Z","type":"session_meta","payload":{"id":"s"}})",
      R"({"timestamp":"2026-11-23T10:00:03.000Z","type":"event_msg","payload":{"type":"task_started")"
      R"(,"turn_id":"t2","root_turn_id":"t1"}})",
      R"({"timestamp":"2026-11-23T10:00:03.000Z","type":"response_item","payload":{"type":"function_call")"
      R"(,"name":"shell","call_id":"x","arguments":"{}")"
      R"(,"internal_chat_message_metadata_passthrough":{"turn_id":"t1"}}})",
      R"({"timestamp":"2026-11-23T10:00:04.000Z","type":"event_msg","payload":{"type":"task_complete")"
      R"(,"turn_id":"t2","last_agent_message":"r"}})",
  });
  const imported_session session =
      import_codex_log("s", {log_of({codex_thread, codex_turn, codex_prompt, codex_end}), child});
  REQUIRE(session.runs.size() == 1);
  CHECK(kinds(session.runs[0]) == std::vector<std::string>{"prompt", "result", "answer"});
}

TEST_CASE("A Gemini chat in one object is read, and the last version of a message counts", "[session_log]") {
  log_file file;
  file.text = R"({
  "sessionId": "s",
  "messages": [
    {"id": "1", "timestamp": "2026-11-23T10:00:00.000Z", "type": "user", "content": "go"},
    {"id": "2", "timestamp": "2026-11-23T10:00:01.000Z", "type": "gemini", "content": "wait"},
    {"id": "2", "timestamp": "2026-11-23T10:00:01.000Z", "type": "gemini", "content": "done",
     "tokens": {"input": 5, "output": 1}, "model": "m"}
  ]
})";
  const imported_session session = import_gemini_log("s", {file});
  CHECK(session.damaged_lines == 0);
  REQUIRE(session.runs.size() == 1);
  CHECK(kinds(session.runs[0]) == std::vector<std::string>{"prompt", "answer"});
  CHECK(sum(session.runs[0], "model_calls") == 1);
  CHECK(session.runs[0].run == "s/20261123T100000000Z");
  CHECK(text(parsed(session.runs[0].lines)[0].at("labels").at("model")) == "m");
}

TEST_CASE("An opencode call that never ended leaves its run without an answer", "[session_log]") {
  const imported_session session = import_opencode_log(
      "s",
      {log_of({
          R"({"session":{"id":"s","parent_id":"","directory":"/p","agent":"build"}})",
          R"({"message":{"id":"m1","session_id":"s","data":{"role":"user","time":{"created":1795463938115}}}})",
          R"({"message":{"id":"m2","session_id":"s","data":{"role":"assistant","time":{"created":1795463938120}}}})",
          R"({"message":{"id":"m3","session_id":"s","data":{"role":"user","time":{"created":1795463938130}}}})",
          R"({"part":{"id":"p1","message_id":"m1","data":{"type":"text","text":"go"}}})",
          R"({"part":{"id":"p2","message_id":"m2","data":{"type":"tool","tool":"bash","callID":"c")"
          R"(,"state":{"status":"running","input":{},"time":{"start":1795463938125}}}}})",
          R"({"part":{"id":"p3","message_id":"m3","data":{"type":"text","text":"the program's own")"
          R"(,"synthetic":true}}})",
      })});
  REQUIRE(session.runs.size() == 1);
  CHECK(kinds(session.runs[0]) == std::vector<std::string>{"prompt", "tool_call"});
  CHECK(text(parsed(session.runs[0].lines).back().at("outcome")) == "aborted");
}

TEST_CASE("Guards that were asked for are in the trace", "[session_log]") {
  const log_file file = log_of({codex_thread, codex_turn, codex_prompt, codex_end});
  const auto guarded = import_codex_log("s", {file}, {.max_repeats = 3, .max_outputs = 5});
  const json::object hello = parsed(guarded.runs[0].lines)[0];
  CHECK(json::serialize(hello.at("guards")) == R"({"repetition":{"max_repeats":3},"fan_out":{"max_outputs":5}})");
  CHECK(refused(guarded).empty());
  CHECK_FALSE(parsed(import_codex_log("s", {file}).runs[0].lines)[0].contains("guards"));
}

TEST_CASE("Times of logs are Unix milliseconds", "[session_log]") {
  CHECK(time_of("1970-01-02T00:00:01.005Z") == 86'401'005);
  CHECK(time_of("2026-11-23T10:00:00Z") == 1'795'428'000'000);
  CHECK_FALSE(time_of("2026-13-23T10:00:00Z").has_value());
  CHECK_FALSE(time_of("yesterday").has_value());
}

}  // namespace session_log_tests
