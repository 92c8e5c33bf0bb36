// Claude Code: tried with version 2.1.330 (docs/coding-agents.md lists what its hooks carry and do).
#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>
#include <utility>

#include "ingest/hooks/dialect.h"

namespace digd::hooks {

namespace {

namespace json = boost::json;

constexpr known_hook known_hooks[] = {
    {"UserPromptSubmit", call_kind::prompt},      {"PreToolUse", call_kind::tool_wanted},
    {"PostToolUse", call_kind::tool_done},        {"PostToolUseFailure", call_kind::tool_failed},
    {"PermissionDenied", call_kind::tool_failed}, {"SubagentStart", call_kind::agent_started},
    {"SubagentStop", call_kind::agent_stopped},   {"Stop", call_kind::stopped},
    {"StopFailure", call_kind::turn_failed},      {"SessionEnd", call_kind::session_ended},
    {"SessionStart", call_kind::session_started}, {"PostModelSwitch", call_kind::session_started},
    {"PostToolBatch", call_kind::unused},         {"Notification", call_kind::unused},
    {"UserPromptExpansion", call_kind::unused},   {"PreCompact", call_kind::unused},
    {"PostCompact", call_kind::unused},           {"PreModelSwitch", call_kind::unused},
    {"PermissionRequest", call_kind::unused},     {"Setup", call_kind::unused},
    {"TeammateIdle", call_kind::unused},          {"TaskCreated", call_kind::unused},
    {"TaskCompleted", call_kind::unused},         {"Elicitation", call_kind::unused},
    {"ElicitationResult", call_kind::unused},     {"ConfigChange", call_kind::unused},
    {"WorktreeCreate", call_kind::unused},        {"WorktreeRemove", call_kind::unused},
    {"InstructionsLoaded", call_kind::unused},    {"CwdChanged", call_kind::unused},
    {"FileChanged", call_kind::unused},           {"DirectoryAdded", call_kind::unused},
    {"MessageDisplay", call_kind::unused},
};

bool is_false(const json::object& from, std::string_view member) {
  const json::value* value = from.if_contains(member);
  return value != nullptr && value->is_bool() && !value->get_bool();
}

// The text between <tag> and </tag>.
std::string between(std::string_view text, std::string_view tag) {
  const std::string open = '<' + std::string(tag) + '>', close = "</" + std::string(tag) + '>';
  const std::size_t begin = text.find(open);
  if (begin == std::string_view::npos) return {};
  const std::size_t end = text.find(close, begin);
  if (end == std::string_view::npos) return {};
  return std::string(text.substr(begin + open.size(), end - begin - open.size()));
}

// A background agent's result or message reaches the main agent as a prompt of the program's own.
void read_prompt(const json::object& hook, call& into) {
  const std::string prompt = text_of(hook, "prompt");
  into.text = cut(prompt, call::max_text_bytes);
  constexpr std::string_view message = "<agent-message from=\"";
  if (prompt.starts_with(message)) {
    into.kind = call_kind::notification;
    into.tool = tool_kind::message;
    const std::string from = prompt.substr(message.size(), prompt.find('"', message.size()) - message.size());
    into.bound_agent = cut(from, call::max_id_bytes);
    return;
  }
  if (!prompt.starts_with("<task-notification>")) return;
  into.kind = call_kind::notification;
  into.bound_agent = cut(between(prompt, "task-id"), call::max_id_bytes);
  into.tool_use = cut(between(prompt, "tool-use-id"), call::max_id_bytes);
}

void read_spawn(const json::object& hook, call& into) {
  into.tool = tool_kind::spawn;
  into.target = cut(text_of(into.input, "subagent_type"), call::max_id_bytes);
  if (into.target.empty()) into.target = "general-purpose";
  into.given_name = cut(text_of(into.input, "name"), call::max_id_bytes);
  into.text = cut(text_of(into.input, "prompt"), call::max_text_bytes);
  if (const json::object* response = object_of(hook, "tool_response")) {
    into.bound_agent = cut(text_of(*response, "agentId"), call::max_id_bytes);
    into.has_result = text_of(*response, "status") == "completed";
    into.is_teammate = text_of(*response, "status") == "teammate_spawned";
    into.is_elsewhere = into.is_teammate && text_of(*response, "tmux_pane_id") != "in-process";
  }
  if (into.kind != call_kind::tool_failed) return;
  into.no_target = text_of(hook, "error").find("Agent type '" + into.target + "' not found") != std::string::npos;
}

void read_message(const json::object& hook, call& into) {
  into.tool = tool_kind::message;
  into.target = cut(text_of(into.input, "to"), call::max_id_bytes);
  if (into.target.empty()) into.target = cut(text_of(into.input, "recipient"), call::max_id_bytes);
  into.text = cut(text_of(into.input, "message"), call::max_text_bytes);
  if (into.text.empty()) into.text = cut(text_of(into.input, "content"), call::max_text_bytes);
  if (const json::object* response = object_of(hook, "tool_response")) {
    into.bound_agent = cut(text_of(*response, "resumedAgentId"), call::max_id_bytes);
    if (into.bound_agent.empty()) into.bound_agent = cut(text_of(*response, "revivedAgentId"), call::max_id_bytes);
    into.was_not_done = is_false(*response, "success");
  }
}

void read_task(const json::object& hook, call& into) {
  const json::object* response = object_of(hook, "tool_response");
  into.fingerprint = fingerprint_of(into.tool_name, into.input);
  if (into.tool_name == "TaskCreate") {
    into.tool = tool_kind::task_create;
    into.text = cut(text_of(into.input, "subject") + '\n' + text_of(into.input, "description"), call::max_text_bytes);
    const json::object* task = response == nullptr ? nullptr : object_of(*response, "task");
    if (task != nullptr) into.task = cut(text_of(*task, "id"), call::max_id_bytes);
    return;
  }
  into.tool = tool_kind::task_update;
  into.task = cut(text_of(into.input, "taskId"), call::max_id_bytes);
  into.target = cut(text_of(into.input, "owner"), call::max_id_bytes);
  const std::string status = text_of(into.input, "status");
  if (status == "in_progress") into.change = task_change::taken;
  if (status == "completed" || status == "deleted") into.change = task_change::ended;
  into.was_not_done = response != nullptr && is_false(*response, "success");
}

void read_tool(const json::object& hook, call& into) {
  into.tool_name = cut(text_of(hook, "tool_name"), call::max_id_bytes);
  into.tool_use = cut(text_of(hook, "tool_use_id"), call::max_id_bytes);
  if (const json::object* input = object_of(hook, "tool_input")) into.input = *input;
  if (into.tool_name == "Agent" || into.tool_name == "Task") return read_spawn(hook, into);
  if (into.tool_name == "SendMessage") return read_message(hook, into);
  if (into.tool_name == "TaskCreate" || into.tool_name == "TaskUpdate") return read_task(hook, into);
  into.fingerprint = fingerprint_of(into.tool_name, into.input);
}

void read_stop(const json::object& hook, call& into) {
  into.text = cut(text_of(hook, "last_assistant_message"), call::max_text_bytes);
  into.was_blocked = is_true(hook, "stop_hook_active");
  const json::value* tasks = hook.if_contains("background_tasks");
  if (tasks == nullptr || !tasks->is_array()) return;
  into.lists_running = true;
  for (const json::value& value : tasks->get_array()) {
    const json::object* task = value.if_object();
    if (task == nullptr || text_of(*task, "status") != "running") continue;
    if (text_of(*task, "type") == "teammate") into.has_teammates = true;
    if (text_of(*task, "type") == "subagent") into.running.push_back(cut(text_of(*task, "id"), call::max_id_bytes));
  }
}

boost::system::result<call, bad_call> read(const json::object& hook) {
  call made;
  if (auto problem = read_head(hook, "prompt_id", made)) return *std::move(problem);
  made.kind = kind_in(known_hooks, made.name);
  made.is_internal = !made.agent.empty() && made.agent_type.empty() && hook.contains("agent_type");
  if (made.name == "PostModelSwitch") made.model = cut(text_of(hook, "to_model"), call::max_id_bytes);
  switch (made.kind) {
    case call_kind::prompt: read_prompt(hook, made); break;
    case call_kind::tool_wanted:
    case call_kind::tool_done:
    case call_kind::tool_failed: read_tool(hook, made); break;
    case call_kind::agent_stopped:
    case call_kind::stopped: read_stop(hook, made); break;
    case call_kind::turn_failed: made.text = cut(text_of(hook, "error"), call::max_text_bytes); break;
    default: break;
  }
  read_additions(hook, made);
  return made;
}

std::string write(const call& of, const reply& answer) {
  json::object body, output;
  output["hookEventName"] = of.name;
  switch (answer.action) {
    case reply_action::none: return "{}";
    case reply_action::add_context: output["additionalContext"] = answer.text; break;
    case reply_action::amend_input: {
      // No permissionDecision: the user's own permissions still decide.
      json::object input = of.input;
      const char* member = of.tool == tool_kind::spawn ? "prompt" : "message";
      input[member] = text_of(of.input, member) + "\n\n" + answer.text;
      output["updatedInput"] = std::move(input);
      break;
    }
    case reply_action::deny: add_permission(output, "deny", answer.text); break;
    case reply_action::ask: add_permission(output, "ask", answer.text); break;
    case reply_action::block: return decision_body("block", answer.text);
    case reply_action::cancel:
      // `continue` alone ends the agent only after the tool has run.
      body["continue"] = false;
      body["stopReason"] = answer.text;
      if (of.kind != call_kind::tool_wanted) return json::serialize(body);
      add_permission(output, "deny", answer.text);
      break;
  }
  body["hookSpecificOutput"] = std::move(output);
  return json::serialize(body);
}

}  // namespace

const dialect claude_code = {
    .name = "claude-code", .hooks = known_hooks, .able = {.hold = true, .cancel = true}, .read = read, .write = write};

}  // namespace digd::hooks
