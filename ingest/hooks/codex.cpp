// Codex CLI: tried with version 0.169.0 (docs/coding-agents.md lists what its hooks carry and do).
#include <boost/json/array.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <utility>

#include "ingest/hooks/dialect.h"

namespace digd::hooks {

// The names of the dialects' functions are alike; a unity build compiles several files as one.
namespace codex_dialect {

namespace {

namespace json = boost::json;

call_kind kind_of(std::string_view hook, bool is_subagent) {
  // A subagent's task comes as a prompt of its own; its spawn has reported it already.
  if (hook == "UserPromptSubmit") return is_subagent ? call_kind::other : call_kind::prompt;
  if (hook == "PreToolUse") return call_kind::tool_wanted;
  if (hook == "PostToolUse") return call_kind::tool_done;
  if (hook == "SubagentStart") return call_kind::agent_started;
  if (hook == "SubagentStop") return call_kind::agent_stopped;
  if (hook == "Stop") return call_kind::stopped;
  if (hook == "SessionEnd") return call_kind::session_ended;
  return call_kind::other;
}

// A tool's result: an object, or a text that holds one.
json::object response_of(const json::object& hook) {
  if (const json::object* response = object_of(hook, "tool_response")) return *response;
  json::error_code ec;
  json::value value = json::parse(text_of(hook, "tool_response"), ec);
  return !ec && value.is_object() ? std::move(value.get_object()) : json::object();
}

// {"status":{"AGENT":{"completed":"…"}}}
void read_wait(const json::object& response, call& into) {
  const json::object* status = object_of(response, "status");
  if (status == nullptr) return;
  for (const auto& [agent, state] : *status) {
    if (into.results_of.size() >= call::max_results || !state.is_object()) continue;
    if (state.get_object().contains("completed")) into.results_of.push_back(cut(agent, call::max_id_bytes));
  }
}

// Some versions put the name of the tools' group before the tool's.
bool is_tool(const call& of, std::string_view name) { return of.tool_name.ends_with(name); }

void read_tool(const json::object& hook, call& into) {
  into.tool_name = cut(text_of(hook, "tool_name"), call::max_id_bytes);
  into.tool_use = cut(text_of(hook, "tool_use_id"), call::max_id_bytes);
  if (const json::object* input = object_of(hook, "tool_input")) into.input = *input;
  const json::object response = response_of(hook);
  if (is_tool(into, "spawn_agent")) {
    into.tool = tool_kind::spawn;
    into.target = cut(text_of(into.input, "agent_type"), call::max_id_bytes);
    if (into.target.empty()) into.target = "default";
    into.text = cut(text_of(into.input, "message"), call::max_text_bytes);
    into.bound_agent = cut(text_of(response, "agent_id"), call::max_id_bytes);
  } else if (is_tool(into, "send_input")) {
    into.tool = tool_kind::message;
    into.target = cut(text_of(into.input, "target"), call::max_id_bytes);
    if (into.target.empty()) into.target = cut(text_of(into.input, "id"), call::max_id_bytes);
    into.text = cut(text_of(into.input, "message"), call::max_text_bytes);
  } else if (is_tool(into, "wait_agent")) {
    read_wait(response, into);  // to wait again is no repetition: no fingerprint
  } else {
    into.fingerprint = fingerprint_of(into.tool_name, into.input);
  }
}

boost::system::result<call, bad_call> read(const json::object& hook) {
  call made;
  made.name = cut(text_of(hook, "hook_event_name"), call::max_id_bytes);
  if (made.name.empty()) return bad_call{"hook_event_name", "expected the name of a hook"};
  made.session = text_of(hook, "session_id");
  if (made.session.empty() || made.session.size() > call::max_session_bytes) {
    return bad_call{"session_id", "expected a text of 1 to 128 bytes"};
  }
  made.agent = text_of(hook, "agent_id");
  if (made.agent.size() > call::max_id_bytes) return bad_call{"agent_id", "expected at most 120 bytes"};
  made.kind = kind_of(made.name, !made.agent.empty());
  made.prompt_id = text_of(hook, "turn_id");
  if (made.prompt_id.size() > call::max_id_bytes) return bad_call{"turn_id", "expected at most 120 bytes"};
  made.agent_type = cut(text_of(hook, "agent_type"), call::max_id_bytes);
  made.folder = cut(text_of(hook, "cwd"), call::max_text_bytes);
  made.model = cut(text_of(hook, "model"), call::max_id_bytes);
  switch (made.kind) {
    case call_kind::prompt: made.text = cut(text_of(hook, "prompt"), call::max_text_bytes); break;
    case call_kind::tool_wanted:
    case call_kind::tool_done: read_tool(hook, made); break;
    case call_kind::agent_stopped:
    case call_kind::stopped:
      made.text = cut(text_of(hook, "last_assistant_message"), call::max_text_bytes);
      made.was_blocked = is_true(hook, "stop_hook_active");
      break;
    default: break;
  }
  read_additions(hook, made);
  return made;
}

std::string write(const call& of, const reply& answer) {
  json::object body, output;
  output["hookEventName"] = of.name;
  switch (answer.action) {
    case reply_action::none:
    case reply_action::ask:
    case reply_action::cancel: return "{}";
    case reply_action::add_context: output["additionalContext"] = answer.text; break;
    case reply_action::amend_input: {
      json::object input = of.input;
      input["message"] = text_of(of.input, "message") + "\n\n" + answer.text;
      output["updatedInput"] = std::move(input);
      // The program takes a longer input only with this. Starting or messaging an agent needs no permission.
      output["permissionDecision"] = "allow";
      break;
    }
    case reply_action::deny:
      output["permissionDecision"] = "deny";
      output["permissionDecisionReason"] = answer.text;
      break;
    case reply_action::block:
      body["decision"] = "block";
      body["reason"] = answer.text;
      return json::serialize(body);
  }
  body["hookSpecificOutput"] = std::move(output);
  return json::serialize(body);
}

}  // namespace

}  // namespace codex_dialect

const dialect codex = {
    .name = "codex", .able = {}, .stop_is_answer = true, .read = codex_dialect::read, .write = codex_dialect::write};

}  // namespace digd::hooks
