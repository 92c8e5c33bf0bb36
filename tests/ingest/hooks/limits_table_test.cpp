// docs/coding-agents.md and docs/limits.md say which steps of a coding agent digd sees, and can hold, change or give
// back. Each row is tried: a session takes the hook, and each verdict either reaches the hook's answer or does not.
#include <algorithm>
#include <catch2/catch.hpp>
#include <fstream>
#include <iterator>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "ingest/hooks/read_call.h"
#include "ingest/hooks/session.h"
#include "tests/ingest/hooks/hook_calls.h"

using namespace digd::hooks;
using digd::tests::hook;

namespace {

using strings = std::vector<std::string>;

struct cells {
  bool see = false, hold = false, inject = false, give_back = false;
};

struct sample {
  strings before;  // calls that lead to this one
  std::string call;
};

struct program {
  const dialect& as;
  std::string heading;  // of its section
  std::string title;    // in docs/limits.md
  std::map<std::string, sample> rows;
};

const std::string verdict_text = "TEXT OF A VERDICT";

program claude_program() {
  const std::string prompt = hook("UserPromptSubmit", R"("prompt":"go")");
  const std::string spawn =
      hook("PreToolUse", R"("tool_name":"Agent","tool_use_id":"t1","tool_input":{"prompt":"work"})");
  const std::string begin = hook("SubagentStart", R"("agent_id":"a1","agent_type":"general-purpose")");
  const std::string message =
      hook("PreToolUse", R"("tool_name":"SendMessage","tool_use_id":"t2","tool_input":{"to":"a1","message":"hi"})");
  const std::string created =
      hook("PostToolUse", R"("tool_name":"TaskCreate","tool_use_id":"t3","tool_response":{"task":{"id":"1"}})");
  const std::string assignment =
      hook("PreToolUse", R"("tool_name":"TaskUpdate","tool_use_id":"t4","tool_input":{"taskId":"1","owner":"a1"})");
  const std::string stop = hook("Stop", R"("last_assistant_message":"done")");
  return {
      claude_code,
      "## What digd sees, and what it can do",
      "Claude Code",
      {{"`UserPromptSubmit`", {{}, prompt}},
       {"`PreToolUse` on `Agent`, `Task`", {{prompt}, spawn}},
       {"`PreToolUse` on `SendMessage`", {{prompt, spawn, begin}, message}},
       {"`PreToolUse` on `TaskUpdate`", {{prompt, created, spawn, begin}, assignment}},
       {"`PreToolUse` on other tools", {{prompt}, hook("PreToolUse", R"("tool_name":"Bash")")}},
       {"`PostToolUse`", {{prompt}, hook("PostToolUse", R"("tool_name":"Bash")")}},
       {"`PostToolUseFailure`, `PermissionDenied`", {{prompt}, hook("PostToolUseFailure", R"("tool_name":"Bash")")}},
       {"`SubagentStart`", {{prompt, spawn}, begin}},
       {"`SubagentStop`",
        {{prompt, spawn, begin}, hook("SubagentStop", R"("agent_id":"a1","last_assistant_message":"done")")}},
       {"`Stop` while subagents act", {{prompt, spawn, begin}, stop}},
       {"`Stop` when no subagent acts", {{prompt}, stop}},
       {"`StopFailure`", {{prompt}, hook("StopFailure")}},
       {"`SessionEnd`", {{prompt}, hook("SessionEnd")}},
       {"`SessionStart`, `PostModelSwitch`", {{}, hook("SessionStart", R"("model":"m")")}}}};
}

program codex_program() {
  const std::string prompt = hook("UserPromptSubmit", R"("prompt":"go")");
  const std::string spawn =
      hook("PreToolUse", R"("tool_name":"spawn_agent","tool_use_id":"t1","tool_input":{"message":"work"})");
  const std::string begin = hook("SubagentStart", R"("agent_id":"a1","agent_type":"default")");
  return {codex,
          "## Codex",
          "Codex",
          {{"`UserPromptSubmit`", {{}, prompt}},
           {"`PreToolUse` on `spawn_agent`, `send_input`", {{prompt}, spawn}},
           {"`PreToolUse` on other tools", {{prompt}, hook("PreToolUse", R"("tool_name":"exec_command")")}},
           {"`PostToolUse`", {{prompt}, hook("PostToolUse", R"("tool_name":"exec_command")")}},
           {"`SubagentStart`", {{prompt, spawn}, begin}},
           {"`SubagentStop`",
            {{prompt, spawn, begin}, hook("SubagentStop", R"("agent_id":"a1","last_assistant_message":"done")")}},
           {"`Stop`", {{prompt}, hook("Stop", R"("last_assistant_message":"done")")}},
           {"`Interrupt`", {{prompt}, hook("Interrupt")}},
           {"`SessionEnd`", {{prompt}, hook("SessionEnd")}},
           {"`agent-turn-complete` of `notify`", {{}, R"({"type":"agent-turn-complete","turn-id":"t1"})"}}}};
}

program gemini_program() {
  const std::string prompt = hook("BeforeAgent", R"("timestamp":"1","prompt":"go")");
  const std::string of_agent = R"("tool_name":"invoke_agent","tool_input":{"agent_name":"a","prompt":"work"})";
  const std::string spawn = hook("BeforeTool", of_agent);
  return {
      gemini,
      "## Gemini CLI",
      "Gemini CLI",
      {{"`BeforeAgent`", {{}, prompt}},
       {"`BeforeTool` on `invoke_agent`", {{prompt}, spawn}},
       {"`BeforeTool` on other tools", {{prompt}, hook("BeforeTool", R"("tool_name":"list_directory")")}},
       {"`AfterTool` on `invoke_agent`",
        {{prompt, spawn}, hook("AfterTool", of_agent + R"(,"tool_response":{"llmContent":"result"})")}},
       {"`AfterTool` on other tools", {{prompt}, hook("AfterTool", R"("tool_name":"list_directory")")}},
       {"`AfterModel`", {{prompt}, hook("AfterModel", R"("llm_response":{"candidates":[{"finishReason":"STOP"}]})")}},
       {"`AfterAgent`", {{prompt}, hook("AfterAgent", R"("prompt_response":"done")")}},
       {"`SessionEnd`", {{prompt}, hook("SessionEnd")}}}};
}

program opencode_program() {
  const std::string prompt = hook("chat.message", R"("text":"go")");
  const std::string of_task = R"("tool_name":"task","tool_use_id":"t1","tool_input":{"prompt":"work"})";
  const std::string spawn = hook("tool.execute.before", of_task);
  return {opencode,
          "## opencode",
          "opencode",
          {{"`chat.message`", {{}, prompt}},
           {"`tool.execute.before` on `task`", {{prompt}, spawn}},
           {"`tool.execute.before` on other tools", {{prompt}, hook("tool.execute.before", R"("tool_name":"bash")")}},
           {"`tool.execute.after` on `task`",
            {{prompt, spawn}, hook("tool.execute.after", of_task + R"(,"output":"result")")}},
           {"`tool.execute.after` on other tools", {{prompt}, hook("tool.execute.after", R"("tool_name":"bash")")}},
           {"event `message.part.updated`", {{prompt}, hook("tool.error", R"("tool_name":"bash")")}},
           {"event `session.error`", {{prompt}, hook("session.error")}},
           {"event `session.idle`", {{prompt}, hook("session.idle", R"("text":"done")")}},
           {"event `session.deleted`, `dispose`", {{prompt}, hook("session.ended")}}}};
}

std::vector<program> programs() { return {claude_program(), codex_program(), gemini_program(), opencode_program()}; }

call read(const dialect& as, const std::string& body) {
  const auto made = read_call(as, body);
  INFO(body);
  REQUIRE(made.has_value());
  return *made;
}

void begin_if_needed(session& in, const call& of) {
  if (!in.needs_run(of)) return;
  in.begin_run(of);
  in.joined(0, true, true);  // guards are on, and judge the calls of all tools
}

// A session that has taken what leads to the sample's call.
session prepared(const program& of, const sample& row, const call& last) {
  session made("s1", {.able = of.as.able, .stop_is_answer = of.as.stop_is_answer});
  for (const std::string& body : row.before) {
    const call each = read(of.as, body);
    begin_if_needed(made, each);
    if (const auto taken = made.take(each); taken.judged_seq != 0) {
      made.answer(taken.judged_seq, {.action = "deliver", .recipients = {}, .inject = {}});
    }
  }
  begin_if_needed(made, last);
  return made;
}

// What the verdict's text brings about.
reply_action reply_to(const program& of, const sample& row, const std::string& action) {
  const call last = read(of.as, row.call);
  session in = prepared(of, row, last);
  const strings agents = {"main", "general-purpose#1", "default#1", "a#1", "general#1"};
  if (action == "inject") in.intervene("sys:1", "", verdict_text, agents);  // for the hooks that wait for no verdict
  const auto taken = in.take(last);
  const reply made =
      taken.judged_seq == 0
          ? (action == "inject" ? taken.reply : reply{})
          : in.answer(taken.judged_seq, {.action = action, .recipients = {"main"}, .inject = verdict_text});
  return of.as.write(last, made).find(verdict_text) == std::string::npos ? reply_action::none : made.action;
}

cells tried(const program& of, const sample& row) {
  const call last = read(of.as, row.call);
  const reply_action held = reply_to(of, row, "hold"), returned = reply_to(of, row, "reroute");
  cells found;
  found.see = last.kind != call_kind::other && last.kind != call_kind::unused;
  found.hold = of.as.able.hold && held == reply_action::ask;
  found.give_back = returned == reply_action::deny || returned == reply_action::block;
  // An answer goes to no agent, so no verdict lengthens it.
  session in = prepared(of, row, last);
  const bool is_answer = last.kind == call_kind::stopped && in.take(last).judged_seq != 0;
  found.inject = !is_answer && reply_to(of, row, "inject") != reply_action::none;
  return found;
}

std::string file(const std::string& name) {
  std::ifstream in(std::string(DIGD_SOURCE_DIR) + "/docs/" + name);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::string section_of(const std::string& page, const std::string& heading) {
  const std::size_t begin = page.find('\n' + heading + '\n');
  REQUIRE(begin != std::string::npos);
  return page.substr(begin, page.find("\n## ", begin + 1) - begin);
}

// The cells of a table's rows, by the first one.
std::map<std::string, strings> table_in(const std::string& section, const std::string& first_column) {
  std::map<std::string, strings> rows;
  std::istringstream lines(section);
  bool is_inside = false;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("| " + first_column + " |")) {
      is_inside = true;
    } else if (!line.starts_with("|")) {
      is_inside = false;
    } else if (is_inside && !line.starts_with("|-")) {
      strings parts;
      for (std::size_t at = 2; at < line.size();) {
        const std::size_t end = line.find(" |", at);
        if (end == std::string::npos) break;
        parts.push_back(line.substr(at, end - at));
        at = end + 3;
      }
      rows[parts.at(0)] = parts;
    }
  }
  return rows;
}

bool is_yes(const std::string& cell) { return cell != "–"; }

}  // namespace

TEST_CASE("TheTablesOfCodingAgentsSayWhatTheHooksDo") {
  const std::string page = file("coding-agents.md");
  for (const program& each : programs()) {
    const auto rows = table_in(section_of(page, each.heading), "hook");
    for (const auto& [name, row] : rows) {
      INFO(each.title << ": a row that is not tried: " << name);
      CHECK(each.rows.contains(name));
    }
    for (const auto& [name, row] : each.rows) {
      INFO(each.title << ": " << name);
      REQUIRE(rows.contains(name));
      const strings& cell = rows.at(name);
      REQUIRE(cell.size() == 6);
      const cells found = tried(each, row);
      CHECK(is_yes(cell[2]) == found.see);
      CHECK(is_yes(cell[3]) == found.hold);
      CHECK(is_yes(cell[4]) == found.inject);
      CHECK(is_yes(cell[5]) == found.give_back);
    }
  }
}

TEST_CASE("CodingAgentsNamesEveryHookThatDigdKnows") {
  const std::string page = file("coding-agents.md");
  for (const program& each : programs()) {
    const std::string section = section_of(page, each.heading);
    for (const known_hook& known : each.as.hooks) {
      if (known.name == "session.ended" || known.name == "tool.error") continue;  // names of the plugin's own
      INFO(each.title << ": " << known.name);
      CHECK(section.find('`' + std::string(known.name) + '`') != std::string::npos);
    }
  }
}

TEST_CASE("TheTableOfProgramsInLimitsSumsUpTheirHooks") {
  const auto rows = table_in(file("limits.md"), "program");
  REQUIRE(rows.size() == programs().size());
  for (const program& each : programs()) {
    INFO(each.title);
    REQUIRE(rows.contains(each.title));
    const strings& cell = rows.at(each.title);
    REQUIRE(cell.size() == 6);
    cells any;
    for (const auto& [name, row] : each.rows) {
      const cells found = tried(each, row);
      any = {any.see || found.see, any.hold || found.hold, any.inject || found.inject,
             any.give_back || found.give_back};
    }
    CHECK(is_yes(cell[1]) == any.see);
    CHECK(is_yes(cell[2]) == any.hold);
    CHECK(is_yes(cell[3]) == any.inject);
    CHECK(is_yes(cell[4]) == any.give_back);
    const call step = read(each.as, each.rows.begin()->second.call);
    const bool ends_agents = each.as.able.cancel && each.as.write(step, {reply_action::cancel, verdict_text}) != "{}";
    CHECK(is_yes(cell[5]) == ends_agents);
  }
}
