#include "ingest/otlp/essential.h"

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>
#include <utility>

#include "ingest/otlp/dialect.h"
#include "ingest/otlp/usage.h"

namespace digd::otlp {

namespace json = boost::json;

namespace {

class wanted_keys {
 public:
  wanted_keys(const dialect& d, role given_role, bool texts) {
    for (const condition& c : d.conditions) add(c);
    for (const role_row& row : d.roles) {
      for (const condition& c : row.when) add(c);
    }
    for (const condition& c : d.lost_if) add(c);
    for (const condition& c : d.passes_on_if) add(c);
    for (const std::string_view key : d.agent) add(key);
    add(d.step);
    add(error_type_key);
    add(d.conversation);
    if (given_role == role::handoff) add(d.handed_to);
    if (given_role == role::model) {
      for (const std::string_view key : usage_keys()) add(key);
    }
    if (!texts) return;
    for (const std::string_view key : d.input) add(key);
    for (const std::string_view key : d.output) add(key);
  }
  bool has(std::string_view key) const { return std::find(keys_.begin(), keys_.end(), key) != keys_.end(); }

 private:
  void add(const condition& c) {
    add(c.key);
    if (c.kind == test::same_as) add(c.value);
  }
  void add(std::string_view key) {
    if (!key.empty()) keys_.push_back(key.substr(0, key.find('/')));
  }
  std::vector<std::string_view> keys_;
};

// A deeper value becomes a text: protobuf values may nest deeper than digd reads JSON.
constexpr std::size_t max_nested_values = 16;

json::object any(const json::value& v, std::size_t depth = 0) {
  if (depth == max_nested_values && v.is_structured()) return {{"stringValue", json::serialize(v)}};
  switch (v.kind()) {
    case json::kind::bool_: return {{"boolValue", v}};
    case json::kind::int64:
    case json::kind::uint64: return {{"intValue", json::serialize(v)}};
    case json::kind::double_: return {{"doubleValue", v}};
    case json::kind::string: return {{"stringValue", v}};
    case json::kind::null: return {};
    case json::kind::array: {
      json::array values;
      for (const json::value& value : v.get_array()) values.push_back(any(value, depth + 1));
      return {{"arrayValue", {{"values", std::move(values)}}}};
    }
    case json::kind::object: break;
  }
  json::array values;
  for (const auto& [key, value] : v.get_object()) values.push_back({{"key", key}, {"value", any(value, depth + 1)}});
  return {{"kvlistValue", {{"values", std::move(values)}}}};
}

json::object span_object(const span& s) {
  json::array attributes, links;
  for (const auto& [key, value] : s.attributes) attributes.push_back({{"key", key}, {"value", any(value)}});
  for (const span_link& link : s.links) links.push_back({{"traceId", link.trace}, {"spanId", link.span}});
  json::object out{{"traceId", s.trace},
                   {"spanId", s.id},
                   {"parentSpanId", s.parent},
                   {"name", s.name},
                   {"startTimeUnixNano", std::to_string(s.start_ns)},
                   {"endTimeUnixNano", std::to_string(s.end_ns)},
                   {"attributes", std::move(attributes)},
                   {"links", std::move(links)}};
  if (s.failed) out["status"] = {{"code", 2}, {"message", s.error}};
  return out;
}

json::object resource_object(const origin& from, json::array&& spans) {
  const json::object service{{"key", "service.name"}, {"value", {{"stringValue", from.service}}}};
  return {{"resource", {{"attributes", json::array{service}}}},
          {"scopeSpans",
           json::array{{{"scope", {{"name", from.scope}, {"version", from.version}}}, {"spans", std::move(spans)}}}}};
}

}  // namespace

void keep_essential(span& s, bool texts) {
  const dialect* in = dialect_of(s);
  if (!texts) s.error = was_cancelled(s) ? "CancelledError" : "";
  if (in == nullptr) return s.attributes.clear();
  const wanted_keys wanted(*in, role_of(*in, s), texts);
  json::object kept;
  for (auto& [key, value] : s.attributes) {
    if (wanted.has(key)) kept[key] = std::move(value);
  }
  s.attributes = std::move(kept);
}

std::string encode_spans(std::span<const span> spans) {
  json::array resources;
  for (std::size_t i = 0; i < spans.size();) {
    const auto from = spans[i].from ? spans[i].from : std::make_shared<const origin>();
    json::array spans_of_origin;
    do {
      spans_of_origin.push_back(span_object(spans[i++]));
    } while (i < spans.size() && spans[i].from == spans[i - 1].from);
    resources.push_back(resource_object(*from, std::move(spans_of_origin)));
  }
  return json::serialize(json::object{{"resourceSpans", std::move(resources)}});
}

}  // namespace digd::otlp
