// Gemini CLI: tried with version 0.61.0 (docs/coding-agents.md lists what its hooks carry and do).
//
// Its hooks name neither agents nor tool calls. A subagent lives as long as the call of `invoke_agent` that runs it.
#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>
#include <utility>

#include "base/deep_json.h"
#include "ingest/hooks/dialect.h"

namespace digd::hooks {

// The names of the dialects' functions are alike; a unity build compiles several files as one.
namespace gemini_dialect {

namespace {

namespace json = boost::json;

constexpr known_hook known_hooks[] = {
    {"BeforeAgent", call_kind::prompt},         {"BeforeTool", call_kind::tool_wanted},
    {"AfterTool", call_kind::tool_done},        {"AfterModel", call_kind::model_done},
    {"AfterAgent", call_kind::stopped},         {"SessionEnd", call_kind::session_ended},
    {"SessionStart", call_kind::unused},        {"BeforeModel", call_kind::unused},
    {"BeforeToolSelection", call_kind::unused}, {"PreCompress", call_kind::unused},
    {"Notification", call_kind::unused},
};

// "2026-11-23T14:13:53.689Z" as "20261123T141353689Z": prompts have no ids, and a run's id is a part of addresses.
std::string prompt_id_of(const json::object& hook) {
  std::string id = cut(text_of(hook, "timestamp"), call::max_id_bytes);
  std::erase_if(id, [](char c) { return c == '-' || c == ':' || c == '.'; });
  return id;
}

// A text, or a list of parts with texts.
std::string content_of(const json::object& response) {
  const json::value* content = response.if_contains("llmContent");
  if (content == nullptr) return {};
  if (!content->is_array()) return text_of(response, "llmContent");
  std::string text;
  for (const json::value& part : content->get_array()) {
    if (part.is_object()) text += text_of(part.get_object(), "text");
  }
  return text;
}

// {"response":"TEXT"}, as the program's own agents answer, or a text.
std::string answer_of(const std::string& text) {
  json::error_code ec;
  const json::value value = parse_json(text, ec);
  if (ec || !value.is_object() || value.get_object().size() != 1) return text;
  const std::string response = text_of(value.get_object(), "response");
  return response.empty() ? text : response;
}

// "Subagent 'NAME' finished.\nTermination Reason: GOAL\nResult:\nTEXT". Empty: it failed.
std::string result_of(const json::object& response) {
  const json::object* display = object_of(response, "returnDisplay");
  if (response.contains("error") || (display != nullptr && text_of(*display, "state") == "error")) return {};
  std::string text = content_of(response);
  constexpr std::string_view heading = "\nResult:\n";
  const std::size_t at = text.find(heading);
  return at == std::string::npos ? text : answer_of(text.substr(at + heading.size()));
}

void read_tool(const json::object& hook, call& into) {
  into.tool_name = cut(text_of(hook, "tool_name"), call::max_id_bytes);
  if (const json::object* input = object_of(hook, "tool_input")) into.input = *input;
  const std::string fingerprint = fingerprint_of(into.tool_name, into.input);
  if (into.tool_name != "invoke_agent") {
    into.fingerprint = fingerprint;
    return;
  }
  into.tool = tool_kind::spawn;
  into.is_whole = true;
  into.tool_use = fingerprint;
  into.target = cut(text_of(into.input, "agent_name"), call::max_id_bytes);
  if (into.target.empty()) into.target = "subagent";
  if (into.kind == call_kind::tool_wanted) {
    into.text = cut(text_of(into.input, "prompt"), call::max_text_bytes);
  } else if (const json::object* response = object_of(hook, "tool_response")) {
    into.has_result = true;
    into.text = cut(result_of(*response), call::max_text_bytes);
  }
}

// The program calls this hook for each part of a reply. The last part has the reason for the end.
void read_reply(const json::object& hook, call& into) {
  const json::object* response = object_of(hook, "llm_response");
  const json::value* candidates = response == nullptr ? nullptr : response->if_contains("candidates");
  const bool is_last = candidates != nullptr && candidates->is_array() && !candidates->get_array().empty() &&
                       candidates->get_array().front().is_object() &&
                       !text_of(candidates->get_array().front().get_object(), "finishReason").empty();
  if (!is_last) {
    into.kind = call_kind::unused;
    return;
  }
  into.spent = usage_totals{.input_tokens = 0, .output_tokens = 0, .model_calls = 1};
  const json::object* usage = object_of(*response, "usageMetadata");
  if (usage == nullptr) return;
  into.spent->input_tokens = count_of(*usage, "promptTokenCount");
  // Some versions give only the total.
  const std::int64_t output = count_of(*usage, "candidatesTokenCount");
  const std::int64_t rest = count_of(*usage, "totalTokenCount") - into.spent->input_tokens;
  into.spent->output_tokens = output > 0 ? output : std::max<std::int64_t>(rest, 0);
}

boost::system::result<call, bad_call> read(const json::object& hook) {
  call made;
  if (auto problem = read_head(hook, {}, made)) return *std::move(problem);
  made.kind = kind_in(known_hooks, made.name);
  switch (made.kind) {
    case call_kind::prompt:
      made.prompt_id = prompt_id_of(hook);
      made.text = cut(text_of(hook, "prompt"), call::max_text_bytes);
      break;
    case call_kind::tool_wanted:
    case call_kind::tool_done: read_tool(hook, made); break;
    case call_kind::stopped:
      made.text = cut(text_of(hook, "prompt_response"), call::max_text_bytes);
      made.was_blocked = is_true(hook, "stop_hook_active");
      break;
    case call_kind::model_done: read_reply(hook, made); break;
    default: break;
  }
  read_additions(hook, made);
  return made;
}

std::string write(const call& of, const reply& answer) {
  json::object output;
  switch (answer.action) {
    case reply_action::none:
    case reply_action::ask:
    case reply_action::cancel: return "{}";
    case reply_action::add_context: output["additionalContext"] = answer.text; break;
    case reply_action::amend_input:
      output["tool_input"] = json::object{{"prompt", text_of(of.input, "prompt") + "\n\n" + answer.text}};
      break;
    case reply_action::deny:
    case reply_action::block: return decision_body("deny", answer.text);
  }
  output["hookEventName"] = of.name;
  return output_body(std::move(output));
}

}  // namespace

}  // namespace gemini_dialect

const dialect gemini = {.name = "gemini",
                        .hooks = gemini_dialect::known_hooks,
                        .able = {.adds_context_before_tools = false},
                        .stop_is_answer = true,
                        .read = gemini_dialect::read,
                        .write = gemini_dialect::write};

}  // namespace digd::hooks
