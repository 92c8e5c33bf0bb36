#include "ingest/trace/json_reader.h"

#include <boost/json/stream_parser.hpp>
#include <cmath>

#include "base/hex.h"

namespace digd::importers {
namespace json = boost::json;

namespace {

constexpr std::size_t max_quoted_bytes = 60;

std::string_view type_name(const json::value& value) {
  switch (value.kind()) {
    case json::kind::null: return "null";
    case json::kind::bool_: return "a boolean";
    case json::kind::int64:
    case json::kind::uint64:
    case json::kind::double_: return "a number";
    case json::kind::string: return "a string";
    case json::kind::array: return "an array";
    case json::kind::object: return "an object";
  }
  return "something else";
}

}  // namespace

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text.substr(0, max_quoted_bytes)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte < 0x7f && c != '"' && c != '\\') {
      out += c;
    } else {
      out += "\\x";
      append_hex(out, byte);
    }
  }
  out += text.size() > max_quoted_bytes ? "…\"" : "\"";
  return out;
}

std::string place(std::string_view where, std::string_view key) {
  if (where.empty()) return std::string(key);
  return std::string(where) + '.' + std::string(key);
}

void json_reader::fail(import_errc code, std::string_view where, std::string_view given_text) {
  if (failure_) return;
  std::string text(where);
  if (!text.empty()) text += ": ";
  failure_ = import_failure{code, text + std::string(given_text)};
}

void json_reader::wrong_type(std::string_view where, std::string_view key, std::string_view expected,
                             const json::value* found) {
  std::string text = "expected " + std::string(expected) + ", found ";
  text += found ? type_name(*found) : "nothing";
  fail(import_errc::wrong_shape, place(where, key), text);
}

const json::object* json_reader::parse(std::string_view text, std::size_t max_bytes, json::value& into) {
  if (text.size() > max_bytes) {
    fail(import_errc::too_large, {},
         "the file has " + std::to_string(text.size()) + " bytes, the limit is " + std::to_string(max_bytes));
    return nullptr;
  }
  json::parse_options options;
  options.max_depth = max_json_depth;
  json::stream_parser parser({}, options);
  json::error_code error;
  const auto read = parser.write_some(text.data(), text.size(), error);
  if (!error && !parser.done()) parser.finish(error);
  if (!error && text.find_first_not_of(" \t\r\n", read) != std::string_view::npos) {
    error = json::make_error_code(json::error::extra_data);
  }
  if (error) {
    fail(import_errc::bad_json, "byte " + std::to_string(read),
         "expected one JSON document in UTF-8 of at most " + std::to_string(max_json_depth) + " levels (" +
             error.message() + ")");
    return nullptr;
  }
  into = parser.release();
  if (const auto* top = into.if_object()) return top;
  fail(import_errc::wrong_shape, {}, "expected an object at the top, found " + std::string(type_name(into)));
  return nullptr;
}

const json::value* json_reader::find(const json::object& from, std::string_view key) const {
  const auto* found = from.if_contains(key);
  return found && !found->is_null() ? found : nullptr;
}

const json::value* json_reader::take(const json::object& from, std::string_view key, std::string_view where,
                                     bool required, std::string_view expected) {
  const auto* found = find(from, key);
  if (!found && required) wrong_type(where, key, expected, from.if_contains(key));
  return found;
}

const json::object* json_reader::object(const json::object& from, std::string_view key, std::string_view where,
                                        bool required) {
  const auto* found = take(from, key, where, required, "an object");
  if (!found) return nullptr;
  if (const auto* value = found->if_object()) return value;
  wrong_type(where, key, "an object", found);
  return nullptr;
}

const json::array* json_reader::array(const json::object& from, std::string_view key, std::string_view where,
                                      bool required) {
  const auto* found = take(from, key, where, required, "an array");
  if (!found) return nullptr;
  if (const auto* value = found->if_array()) return value;
  wrong_type(where, key, "an array", found);
  return nullptr;
}

std::optional<std::string_view> json_reader::string(const json::object& from, std::string_view key,
                                                    std::string_view where, bool required) {
  const auto* found = take(from, key, where, required, "a string");
  if (!found) return std::nullopt;
  if (const auto* value = found->if_string()) return std::string_view(value->data(), value->size());
  wrong_type(where, key, "a string", found);
  return std::nullopt;
}

std::optional<bool> json_reader::boolean(const json::object& from, std::string_view key, std::string_view where) {
  const auto* found = find(from, key);
  if (!found) return std::nullopt;
  if (const auto* value = found->if_bool()) return *value;
  wrong_type(where, key, "a boolean", found);
  return std::nullopt;
}

std::optional<std::int64_t> json_reader::seconds(const json::object& from, std::string_view key,
                                                 std::string_view where) {
  constexpr double max_seconds = 1e11;
  const auto* found = find(from, key);
  if (!found) return std::nullopt;
  if (!found->is_number()) {
    wrong_type(where, key, "seconds as a number", found);
    return std::nullopt;
  }
  const double value = found->to_number<double>();
  if (!std::isfinite(value) || value < 0 || value > max_seconds) {
    fail(import_errc::wrong_value, place(where, key), "expected seconds between 0 and 1e11");
    return std::nullopt;
  }
  return static_cast<std::int64_t>(std::floor(value * 1e6));
}

}  // namespace digd::importers
