#include "ingest/hooks/dialect.h"

#include <algorithm>
#include <array>
#include <boost/json/serialize.hpp>
#include <utility>

#include "base/fnv_hash.h"
#include "base/text.h"

namespace digd::hooks {

namespace {

namespace json = boost::json;

// Those of coding agents.
constexpr std::array dialects = {&claude_code, &codex, &gemini, &opencode};

}  // namespace

const dialect* find_dialect(std::string_view name) {
  for (const dialect* each : dialects) {
    if (each->name == name) return each;
  }
  return nullptr;
}

std::vector<std::string> dialect_names() {
  std::vector<std::string> names;
  names.reserve(dialects.size());
  for (const dialect* each : dialects) names.emplace_back(each->name);
  return names;
}

call_kind kind_in(std::span<const known_hook> hooks, std::string_view name) {
  for (const known_hook& each : hooks) {
    if (each.name == name) return each.kind;
  }
  return call_kind::other;
}

std::string text_of(const json::object& from, std::string_view member) {
  const json::value* value = from.if_contains(member);
  const json::string* text = value == nullptr ? nullptr : value->if_string();
  return text == nullptr ? std::string() : std::string(text->data(), text->size());
}

const json::object* object_of(const json::object& from, std::string_view member) {
  const json::value* value = from.if_contains(member);
  return value == nullptr ? nullptr : value->if_object();
}

bool is_true(const json::object& from, std::string_view member) {
  const json::value* value = from.if_contains(member);
  return value != nullptr && value->is_bool() && value->get_bool();
}

std::int64_t count_of(const json::object& from, std::string_view member) {
  const json::value* value = from.if_contains(member);
  constexpr std::int64_t max_count = 10'000'000'000'000;  // milliseconds until 2286; no sum overflows
  return value != nullptr && value->is_int64() ? std::clamp<std::int64_t>(value->get_int64(), 0, max_count) : 0;
}

void read_additions(const json::object& hook, call& into) {
  const json::object* added = object_of(hook, "digd");
  if (added == nullptr) return;
  into.branch = cut(text_of(*added, "branch"), call::max_id_bytes);
  if (into.model.empty()) into.model = cut(text_of(*added, "model"), call::max_id_bytes);
  if (into.kind == call_kind::agent_started) into.tool_use = cut(text_of(*added, "tool_use_id"), call::max_id_bytes);
  if (const json::object* usage = object_of(*added, "usage")) {
    into.usage = usage_totals{.input_tokens = count_of(*usage, "input_tokens"),
                              .output_tokens = count_of(*usage, "output_tokens"),
                              .model_calls = count_of(*usage, "model_calls")};
  }
}

std::optional<bad_call> read_head(const json::object& hook, std::string_view prompt_member, call& into) {
  into.name = cut(text_of(hook, "hook_event_name"), call::max_id_bytes);
  if (into.name.empty()) return bad_call{"hook_event_name", "expected the name of a hook"};
  into.session = text_of(hook, "session_id");
  if (into.session.empty() || into.session.size() > call::max_session_bytes) {
    return bad_call{"session_id", "expected a text of 1 to 128 bytes"};
  }
  into.folder = cut(text_of(hook, "cwd"), call::max_text_bytes);
  if (prompt_member.empty()) return std::nullopt;
  into.prompt_id = text_of(hook, prompt_member);
  if (into.prompt_id.size() > call::max_id_bytes) {
    return bad_call{std::string(prompt_member), "expected at most 120 bytes"};
  }
  into.agent = text_of(hook, "agent_id");
  if (into.agent.size() > call::max_id_bytes) return bad_call{"agent_id", "expected at most 120 bytes"};
  into.agent_type = cut(text_of(hook, "agent_type"), call::max_id_bytes);
  into.model = cut(text_of(hook, "model"), call::max_id_bytes);
  return std::nullopt;
}

std::string decision_body(std::string_view decision, std::string_view reason) {
  return json::serialize(json::object{{"decision", decision}, {"reason", reason}});
}

std::string output_body(json::object output) {
  return json::serialize(json::object{{"hookSpecificOutput", std::move(output)}});
}

void add_permission(json::object& output, std::string_view decision, std::string_view reason) {
  output["permissionDecision"] = decision;
  output["permissionDecisionReason"] = reason;
}

std::string cut(std::string_view text, std::size_t max_bytes) { return std::string(utf8_prefix(text, max_bytes)); }

std::string fingerprint_of(std::string_view tool, const json::object& input) {
  return cut(tool, 100) + ':' + fnv_digits(json::serialize(input));
}

}  // namespace digd::hooks
