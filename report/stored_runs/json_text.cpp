#include "report/stored_runs/json_text.h"

#include "base/quote.h"

namespace digd::stored {

void append_member(std::string& out, std::string_view name) {
  if (!out.empty() && out.back() != '{') out += ',';
  out.append("\"").append(name).append("\":");
}

void append_number(std::string& out, std::string_view name, std::int64_t value) {
  append_member(out, name);
  out += std::to_string(value);
}

void append_number_or_null(std::string& out, std::string_view name, const std::optional<std::int64_t>& value) {
  if (value) return append_number(out, name, *value);
  append_member(out, name);
  out += "null";
}

void append_text(std::string& out, std::string_view name, std::string_view value) {
  append_member(out, name);
  append_quoted(out, value);
}

void append_text_or_null(std::string& out, std::string_view name, std::string_view value) {
  if (!value.empty()) return append_text(out, name, value);
  append_member(out, name);
  out += "null";
}

void append_bool(std::string& out, std::string_view name, bool value) {
  append_member(out, name);
  out += value ? "true" : "false";
}

void append_next(std::string& out, bool more, std::uint64_t last) {
  append_text_or_null(out, "next", more ? std::to_string(last) : std::string());
}

}  // namespace digd::stored
