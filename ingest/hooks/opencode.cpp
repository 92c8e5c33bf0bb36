// opencode: tried with version 1.18.33. Its plugin (cli/opencode_plugin.js) sends the calls and carries out the
// answers; both have its hooks' names. docs/coding-agents.md lists what they carry and do.
#include <boost/json/serialize.hpp>
#include <utility>

#include "ingest/hooks/dialect.h"

namespace digd::hooks {

// The names of the dialects' functions are alike; a unity build compiles several files as one.
namespace opencode_dialect {

namespace {

namespace json = boost::json;

constexpr known_hook known_hooks[] = {
    {"chat.message", call_kind::prompt},          {"tool.execute.before", call_kind::tool_wanted},
    {"tool.execute.after", call_kind::tool_done}, {"tool.error", call_kind::tool_failed},
    {"session.idle", call_kind::stopped},         {"session.error", call_kind::turn_failed},
    {"session.ended", call_kind::session_ended},
};

call_kind kind_of(std::string_view hook, bool is_subagent) {
  const call_kind kind = kind_in(known_hooks, hook);
  if (!is_subagent) return kind;
  switch (kind) {
    case call_kind::prompt: return call_kind::agent_started;
    // A subagent's result, or its failure, comes with the call that runs it.
    case call_kind::stopped:
    case call_kind::turn_failed:
    case call_kind::session_ended: return call_kind::unused;
    default: return kind;
  }
}

// The text between <task_result> and </task_result>, without the lines' ends around it.
std::string result_of(std::string_view output) {
  constexpr std::string_view open = "<task_result>", close = "</task_result>";
  const std::size_t begin = output.find(open), end = output.rfind(close);
  if (begin != std::string_view::npos && end != std::string_view::npos && begin + open.size() <= end) {
    output = output.substr(begin + open.size(), end - begin - open.size());
  }
  const std::size_t first = output.find_first_not_of("\r\n");
  if (first == std::string_view::npos) return {};
  return std::string(output.substr(first, output.find_last_not_of("\r\n") - first + 1));
}

void read_task(const json::object& hook, call& into) {
  into.tool = tool_kind::spawn;
  into.is_whole = true;
  into.target = cut(text_of(into.input, "subagent_type"), call::max_id_bytes);
  if (into.target.empty()) into.target = "general";
  switch (into.kind) {
    case call_kind::tool_wanted: into.text = cut(text_of(into.input, "prompt"), call::max_text_bytes); break;
    case call_kind::tool_done:
      into.has_result = true;
      into.bound_agent = cut(text_of(hook, "task_session_id"), call::max_id_bytes);
      into.text = cut(result_of(text_of(hook, "output")), call::max_text_bytes);
      break;
    case call_kind::tool_failed: {
      const std::string error = text_of(hook, "error");
      into.no_target = error.find("Unknown agent type: " + into.target) != std::string::npos;
      // What the user refuses was never begun.
      if (error.find("rejected permission") == std::string::npos) into.text = cut(error, call::max_text_bytes);
      break;
    }
    default: break;
  }
}

void read_tool(const json::object& hook, call& into) {
  into.tool_name = cut(text_of(hook, "tool_name"), call::max_id_bytes);
  into.tool_use = cut(text_of(hook, "tool_use_id"), call::max_id_bytes);
  if (const json::object* input = object_of(hook, "tool_input")) into.input = *input;
  if (into.tool_name == "task") return read_task(hook, into);
  into.fingerprint = fingerprint_of(into.tool_name, into.input);
}

boost::system::result<call, bad_call> read(const json::object& hook) {
  call made;
  if (auto problem = read_head(hook, "prompt_id", made)) return *std::move(problem);
  made.kind = kind_of(made.name, !made.agent.empty());
  switch (made.kind) {
    case call_kind::tool_wanted:
    case call_kind::tool_done:
    case call_kind::tool_failed: read_tool(hook, made); break;
    case call_kind::prompt:
    case call_kind::stopped: made.text = cut(text_of(hook, "text"), call::max_text_bytes); break;
    case call_kind::turn_failed: made.text = cut(text_of(hook, "error"), call::max_text_bytes); break;
    default: break;
  }
  read_additions(hook, made);
  return made;
}

std::string write(const call& of, const reply& answer) {
  json::object body;
  switch (answer.action) {
    case reply_action::none:
    case reply_action::ask:
    case reply_action::cancel:
    case reply_action::block: return "{}";
    case reply_action::add_context: body["context"] = answer.text; break;
    case reply_action::amend_input: body["prompt"] = text_of(of.input, "prompt") + "\n\n" + answer.text; break;
    case reply_action::deny: body["deny"] = answer.text; break;
  }
  return json::serialize(body);
}

}  // namespace

}  // namespace opencode_dialect

const dialect opencode = {.name = "opencode",
                          .hooks = opencode_dialect::known_hooks,
                          .able = {.adds_context_before_tools = false, .blocks_stops = false},
                          .stop_is_answer = true,
                          .read = opencode_dialect::read,
                          .write = opencode_dialect::write};

}  // namespace digd::hooks
