#include "base/json_tokens.h"

#include "base/hex.h"

namespace digd {

std::size_t skip_json_space(std::string_view json, std::size_t at) {
  while (at < json.size() && (json[at] == ' ' || json[at] == '\t' || json[at] == '\n' || json[at] == '\r')) ++at;
  return at;
}

std::size_t end_of_string(std::string_view json, std::size_t at) {
  const std::size_t first = at + 1;
  for (std::size_t quote = first; (quote = json.find('"', quote)) != std::string_view::npos; ++quote) {
    std::size_t backslashes = quote;  // where the backslashes directly before the quote begin
    while (backslashes > first && json[backslashes - 1] == '\\') --backslashes;
    if ((quote - backslashes) % 2 == 0) return quote + 1;
  }
  return json.size();
}

std::size_t end_of_value(std::string_view json, std::size_t at) {
  std::size_t depth = 0;
  while (at < json.size()) {
    const char c = json[at];
    if (c == '"') {
      at = end_of_string(json, at);
      if (depth == 0) return at;
      continue;
    }
    if (c == '{' || c == '[') ++depth;
    if (c == '}' || c == ']') {
      if (depth == 0) return at;
      if (--depth == 0) return at + 1;
    }
    if (c == ',' && depth == 0) return at;
    ++at;
  }
  return at;
}

bool string_is(std::string_view token, std::string_view word) {
  token = token.substr(1, token.size() < 2 ? 0 : token.size() - 2);
  std::size_t at = 0;
  for (const char expected : word) {
    if (at >= token.size()) return false;
    if (token[at] != '\\') {
      if (token[at++] != expected) return false;
      continue;
    }
    if (at + 5 >= token.size() || token[at + 1] != 'u') return false;
    int code = 0;
    for (std::size_t i = 2; i < 6; ++i) code = code * 16 + hex_value(token[at + i]);
    if (code != expected) return false;
    at += 6;
  }
  return at == token.size();
}

}  // namespace digd
