#include "ingest/otlp/dialect.h"

#include <algorithm>
#include <boost/json/serialize.hpp>
#include <iterator>

#include "base/deep_json.h"

namespace digd::otlp {

namespace json = boost::json;

namespace {

constexpr dialect all_dialects[] = {
#include "ingest/otlp/dialects.inc"
};

constexpr std::size_t max_inner_json_bytes = 1 << 20;

const json::value* attribute(const span& s, std::string_view key) {
  const json::value* found = s.attributes.if_contains(json::string_view(key.data(), key.size()));
  return found == nullptr || found->is_null() ? nullptr : found;
}

// The member of an attribute that holds JSON as text.
std::optional<json::value> inner(const span& s, std::string_view key, std::size_t slash) {
  const json::value* outer = attribute(s, key.substr(0, slash));
  if (outer == nullptr) return std::nullopt;
  json::value parsed;
  if (const json::string* text = outer->if_string(); text != nullptr && text->size() <= max_inner_json_bytes) {
    json::error_code ec;
    parsed = parse_json(*text, ec);
    if (ec) return std::nullopt;
  } else {
    parsed = *outer;
  }
  const json::object* members = parsed.if_object();
  const std::string_view name = key.substr(slash + 1);
  const json::value* found =
      members == nullptr ? nullptr : members->if_contains(json::string_view(name.data(), name.size()));
  if (found == nullptr || found->is_null()) return std::nullopt;
  return *found;
}

std::optional<std::string> as_text(const json::value& v) {
  if (const json::string* text = v.if_string()) return std::string(*text);
  if (v.is_number() || v.is_bool()) return json::serialize(v);
  return std::nullopt;
}

bool holds(const condition& c, const span& s) {
  switch (c.kind) {
    case test::always: return true;
    case test::scope: return s.from && s.from->scope.starts_with(c.value);
    case test::name: return s.name.starts_with(c.value);
    case test::has: return text_of(s, c.key).has_value();
    case test::lacks: return !text_of(s, c.key).has_value();
    case test::equals: return text_of(s, c.key) == c.value;
    case test::differs: return text_of(s, c.key) != c.value;
    case test::same_as: {
      const auto text = text_of(s, c.key);
      return text && text == text_of(s, c.value);
    }
    case test::is_span_name: return text_of(s, c.key) == s.name;
  }
  return false;
}

template <std::size_t N>
bool is_empty(const std::array<condition, N>& conditions) {
  return conditions.front().kind == test::always;
}

template <std::size_t N>
bool all_hold(const std::array<condition, N>& conditions, const span& s) {
  return std::all_of(conditions.begin(), conditions.end(), [&](const condition& c) { return holds(c, s); });
}

}  // namespace

std::string_view to_string(role r) {
  constexpr std::string_view names[] = {"none", "workflow", "node",    "agent", "model",
                                        "tool", "handoff",  "message", "route"};
  return names[static_cast<std::size_t>(r)];
}

std::span<const dialect> dialects() { return all_dialects; }

std::optional<std::string> text_of(const span& s, std::string_view key) {
  if (key.empty()) return std::nullopt;
  if (const std::size_t slash = key.find('/'); slash != std::string_view::npos) {
    const auto found = inner(s, key, slash);
    return found ? as_text(*found) : std::nullopt;
  }
  const json::value* found = attribute(s, key);
  return found == nullptr ? std::nullopt : as_text(*found);
}

std::optional<std::string> first_of(const span& s, const key_list& keys) {
  for (const std::string_view key : keys) {
    if (auto found = text_of(s, key)) return found;
  }
  return std::nullopt;
}

const dialect* dialect_of(const span& s) {
  for (const dialect& d : all_dialects) {
    if (all_hold(d.conditions, s)) return &d;
  }
  return nullptr;
}

role role_of(const dialect& d, const span& s) {
  for (const role_row& row : d.roles) {
    if (!is_empty(row.when) && all_hold(row.when, s)) return row.gives;
  }
  return role::none;
}

bool was_cancelled(const span& s) {
  constexpr std::string_view errors[] = {"CancelledError", "asyncio.exceptions.CancelledError", "AbortError"};
  if (!s.failed) return false;
  const std::string type = text_of(s, error_type_key).value_or("");
  return std::any_of(std::begin(errors), std::end(errors),
                     [&](std::string_view text) { return type == text || s.error.starts_with(text); });
}

bool has_failed(const dialect* in, const span& s) {
  if (was_cancelled(s)) return false;
  if (!s.failed || in == nullptr) return s.failed;
  return std::none_of(in->passes_on_if.begin(), in->passes_on_if.end(),
                      [&](const condition& c) { return c.kind != test::always && holds(c, s); });
}

bool has_lost(const dialect& in, const span& route) { return !is_empty(in.lost_if) && all_hold(in.lost_if, route); }

}  // namespace digd::otlp
