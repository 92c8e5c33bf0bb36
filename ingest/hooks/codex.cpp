// Codex CLI: tried with version 0.169.0 (docs/coding-agents.md lists what its hooks carry and do).
#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>
#include <utility>

#include "base/deep_json.h"
#include "ingest/hooks/dialect.h"

namespace digd::hooks {

// The names of the dialects' functions are alike; a unity build compiles several files as one.
namespace codex_dialect {

namespace {

namespace json = boost::json;

constexpr known_hook known_hooks[] = {
    {"UserPromptSubmit", call_kind::prompt},
    {"PreToolUse", call_kind::tool_wanted},
    {"PostToolUse", call_kind::tool_done},
    {"SubagentStart", call_kind::agent_started},
    {"SubagentStop", call_kind::agent_stopped},
    {"Stop", call_kind::stopped},
    {"Interrupt", call_kind::turn_failed},
    {"SessionEnd", call_kind::session_ended},
    {"agent-turn-complete", call_kind::turn_ended},  // of `notify`
    {"SessionStart", call_kind::unused},
    {"PermissionRequest", call_kind::unused},
    {"PreCompact", call_kind::unused},
    {"PostCompact", call_kind::unused},
    {"PreModelRequest", call_kind::unused},
    {"PostModelRequest", call_kind::unused},
};

// A tool's result: an object, or a text that holds one.
json::object response_of(const json::object& hook) {
  if (const json::object* response = object_of(hook, "tool_response")) return *response;
  json::error_code ec;
  json::value value = parse_json(text_of(hook, "tool_response"), ec);
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
    read_wait(response, into);  // waiting again is not a repetition: no fingerprint
  } else {
    into.fingerprint = fingerprint_of(into.tool_name, into.input);
  }
}

// What `notify` says of a turn, once it has ended. Older versions name no thread: then each turn is a session.
boost::system::result<call, bad_call> read_notice(const json::object& notice) {
  call made;
  made.name = cut(text_of(notice, "type"), call::max_id_bytes);
  made.kind = kind_in(known_hooks, made.name);
  made.prompt_id = text_of(notice, "turn-id");
  if (made.prompt_id.size() > call::max_id_bytes) return bad_call{"turn-id", "expected at most 120 bytes"};
  made.session = text_of(notice, "thread-id");
  if (made.session.empty()) made.session = made.prompt_id;
  if (made.session.empty() || made.session.size() > call::max_session_bytes) {
    return bad_call{"thread-id", "expected a text of 1 to 128 bytes"};
  }
  made.folder = cut(text_of(notice, "cwd"), call::max_text_bytes);
  made.text = cut(text_of(notice, "last-assistant-message"), call::max_text_bytes);
  const json::value* asked = notice.if_contains("input-messages");
  if (asked == nullptr || !asked->is_array()) return made;
  std::string prompt;
  for (const json::value& each : asked->get_array()) {
    if (!each.is_string() || prompt.size() > call::max_text_bytes) continue;
    if (!prompt.empty()) prompt += "\n\n";
    prompt += std::string_view(each.get_string());
  }
  made.prompt = cut(prompt, call::max_text_bytes);
  return made;
}

boost::system::result<call, bad_call> read(const json::object& hook) {
  if (!hook.contains("hook_event_name") && hook.contains("type")) return read_notice(hook);
  call made;
  if (auto problem = read_head(hook, "turn_id", made)) return *std::move(problem);
  made.kind = kind_in(known_hooks, made.name);
  // A subagent's task comes as a prompt of its own; its spawn has reported it already.
  if (made.kind == call_kind::prompt && !made.agent.empty()) made.kind = call_kind::unused;
  switch (made.kind) {
    case call_kind::prompt: made.text = cut(text_of(hook, "prompt"), call::max_text_bytes); break;
    case call_kind::tool_wanted:
    case call_kind::tool_done: read_tool(hook, made); break;
    case call_kind::agent_stopped:
    case call_kind::stopped:
      made.text = cut(text_of(hook, "last_assistant_message"), call::max_text_bytes);
      made.was_blocked = is_true(hook, "stop_hook_active");
      break;
    case call_kind::turn_failed: made.text = "the user interrupted it"; break;
    default: break;
  }
  read_additions(hook, made);
  return made;
}

std::string write(const call& of, const reply& answer) {
  json::object output;
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
    case reply_action::deny: add_permission(output, "deny", answer.text); break;
    case reply_action::block: return decision_body("block", answer.text);
  }
  return output_body(std::move(output));
}

}  // namespace

}  // namespace codex_dialect

const dialect codex = {.name = "codex",
                       .hooks = codex_dialect::known_hooks,
                       .able = {},
                       .stop_is_answer = true,
                       .read = codex_dialect::read,
                       .write = codex_dialect::write};

}  // namespace digd::hooks
