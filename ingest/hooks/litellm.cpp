// LiteLLM's generic guardrail API: tried with version 1.110.2. The proxy asks before each model call (`input_type` is
// `request`) and, where configured, after it (`response`). docs/integrations/litellm.md describes what digd makes of
// it.
#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>
#include <utility>

#include "base/text.h"
#include "ingest/hooks/dialect.h"

namespace digd::hooks {

// The names of the dialects' functions are alike; a unity build compiles several files as one.
namespace litellm_dialect {

namespace {

namespace json = boost::json;

constexpr known_hook known_hooks[] = {{"request", call_kind::tool_wanted}, {"response", call_kind::unused}};

constexpr std::string_view session_prefix = "litellm-";

constexpr std::int64_t max_quiet_ms = 30LL * 60 * 1000;

// The calls of a trace are one session. Without a trace each call is its own.
std::string session_of(const json::object& body, bool has_trace) {
  std::string id = text_of(body, has_trace ? "litellm_trace_id" : "litellm_call_id");
  if (id.empty()) return {};
  // A hash instead of a cut, so that two long ids stay different.
  if (session_prefix.size() + id.size() > call::max_session_bytes) id = fingerprint_of({}, json::object{{"id", id}});
  return std::string(session_prefix) + id;
}

// A header of the caller's request. Clients spell the names of headers as they like.
std::string header_of(const json::object& body, std::string_view wanted) {
  const json::object* headers = object_of(body, "request_headers");
  if (headers == nullptr) return {};
  for (const auto& [name, value] : *headers) {
    if (value.is_string() && lower(name) == wanted) return std::string(value.get_string());
  }
  return {};
}

// Who makes the call: the agent that it names, or else the owner of the key.
std::string caller_of(const json::object& body) {
  std::string name = header_of(body, "x-litellm-agent-id");
  const json::object* added = object_of(body, "additional_provider_specific_params");
  if (name.empty() && added != nullptr) name = text_of(*added, "agent");
  const json::object* key = object_of(body, "request_data");
  for (const std::string_view member :
       {"user_api_key_alias", "user_api_key_end_user_id", "user_api_key_user_id", "user_api_key_hash"}) {
    if (name.empty() && key != nullptr) name = text_of(*key, member);
  }
  return cut(name.empty() ? "caller" : name, call::max_id_bytes);
}

// Requests with the same content, whatever the call's own id is.
std::string fingerprint(const json::object& body, std::string_view model) {
  json::object content;
  for (const std::string_view member : {"texts", "structured_messages", "images", "tools", "tool_calls"}) {
    if (const json::value* value = body.if_contains(member); value != nullptr) content[member] = *value;
  }
  return fingerprint_of(model, content);
}

boost::system::result<call, bad_call> read(const json::object& body) {
  call made;
  made.name = text_of(body, "input_type");
  if (made.name != "request" && made.name != "response") {
    return bad_call{"input_type", "expected request or response"};
  }
  made.kind = kind_in(known_hooks, made.name);
  made.is_alone = text_of(body, "litellm_trace_id").empty();
  made.session = session_of(body, !made.is_alone);
  if (made.session.empty()) made.kind = call_kind::unused;  // there is no run that it could belong to
  made.prompt_id = "calls";
  if (const json::object* added = object_of(body, "additional_provider_specific_params"); added != nullptr) {
    made.mode = text_of(*added, "mode");
  }
  if (made.kind == call_kind::unused) return made;
  made.agent = caller_of(body);
  made.model = cut(text_of(body, "model"), call::max_id_bytes - 8);
  made.tool = tool_kind::model;
  made.tool_name = made.model;
  made.target = "model:" + made.model;
  made.fingerprint = fingerprint(body, made.model);
  // Only a chat has messages to add a text to; an embedding would be of another text.
  const json::value* messages = body.if_contains("structured_messages");
  const json::value* texts = body.if_contains("texts");
  const bool has_texts =
      texts != nullptr && texts->is_array() && !texts->get_array().empty() && texts->get_array().back().is_string();
  made.takes_text = has_texts && messages != nullptr && messages->is_array() && !messages->get_array().empty();
  if (has_texts) {
    made.text = cut(texts->get_array().back().get_string(), call::max_text_bytes);
    made.input["texts"] = *texts;
  }
  return made;
}

std::string write(const call& of, const reply& answer) {
  json::object body{{"action", "NONE"}};
  switch (answer.action) {
    case reply_action::none:
    case reply_action::add_context:
    case reply_action::block: break;
    case reply_action::amend_input: {
      json::array texts = of.input.at("texts").get_array();
      json::string& last = texts.back().get_string();
      last.append("\n\n").append(answer.text);
      body["action"] = "GUARDRAIL_INTERVENED";
      body["texts"] = std::move(texts);
      break;
    }
    case reply_action::ask:
    case reply_action::cancel:
    case reply_action::deny:
      body["action"] = "BLOCKED";
      body["blocked_reason"] = answer.text;
      break;
  }
  return json::serialize(body);
}

}  // namespace

}  // namespace litellm_dialect

const dialect litellm = {.name = "litellm",
                         .hooks = litellm_dialect::known_hooks,
                         .able = {.adds_context_before_tools = false, .blocks_stops = false},
                         .stop_is_answer = true,
                         .reports_messages = false,
                         .max_quiet_ms = litellm_dialect::max_quiet_ms,
                         .read = litellm_dialect::read,
                         .write = litellm_dialect::write};

}  // namespace digd::hooks
