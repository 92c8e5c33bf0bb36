#include "cli/config_edit.h"

#include <fmt/format.h>
#include <toml++/toml.h>

#include <algorithm>
#include <charconv>
#include <cstddef>

#include "base/quote.h"
#include "base/text.h"

namespace digd::cli {

namespace {

std::optional<toml::table> parsed(std::string_view text, std::string& problem) {
  try {
    return toml::parse(text);
  } catch (const toml::parse_error& e) {
    problem = "line " + std::to_string(e.source().begin.line) + ": " + std::string(e.description());
    return {};
  }
}

const toml::node* find(const toml::table& in, const config_edit& edit) {
  const toml::table* rules = in[edit.table].as_table();
  const toml::table* rule = rules == nullptr ? nullptr : (*rules)[edit.rule].as_table();
  return rule == nullptr ? nullptr : rule->get(edit.key);
}

// The byte at which a line begins; lines count from 1. The end of the text if there are fewer.
std::size_t start_of_line(std::string_view text, std::size_t line) {
  std::size_t at = 0;
  for (std::size_t i = 1; i < line; ++i) {
    const std::size_t end = text.find('\n', at);
    if (end == text.npos) return text.size();
    at = end + 1;
  }
  return at;
}

// toml++ counts columns in code points, from 1.
std::size_t byte_at(std::string_view text, const toml::source_position& where) {
  std::size_t at = start_of_line(text, where.line);
  for (toml::source_index column = 1; column < where.column && at < text.size(); ++column) {
    do ++at;
    while (at < text.size() && continues_character(text[at]));
  }
  return at;
}

std::string without_spaces(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '#') break;
    if (c != ' ' && c != '\t' && c != '\r') out += c;
  }
  return out;
}

std::string head_of(const config_edit& edit) { return '[' + edit.table + '.' + edit.rule + ']'; }

// The position after the line with the head of the table; nullopt: there is none.
std::optional<std::size_t> behind_head(std::string_view text, const std::string& head) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    if (without_spaces(text.substr(at, end - at)) == head) return std::min(end + 1, text.size());
    at = end + 1;
  }
  return {};
}

void write(const config_edit& edit, const toml::table& before, std::string& text) {
  if (const toml::node* there = find(before, edit)) {
    const std::size_t begin = byte_at(text, there->source().begin), end = byte_at(text, there->source().end);
    text.replace(begin, end - begin, edit.literal);
    return;
  }
  const std::string line = edit.key + " = " + edit.literal + '\n';
  if (!text.empty() && text.back() != '\n') text += '\n';
  if (const auto at = behind_head(text, head_of(edit))) {
    text.insert(*at, line);
  } else {
    text += (text.empty() ? "" : "\n") + head_of(edit) + '\n' + line;
  }
}

void erase(const config_edit& edit, toml::table& from) {
  toml::table* rules = from[edit.table].as_table();
  toml::table* rule = rules == nullptr ? nullptr : (*rules)[edit.rule].as_table();
  if (rule == nullptr) return;
  rule->erase(edit.key);
  if (rule->empty()) rules->erase(edit.rule);
  if (rules->empty()) from.erase(edit.table);
}

bool has_setting(const toml::table& text, const config_edit& edit) {
  std::string ignored;
  const auto wanted = parsed("v = " + edit.literal, ignored);
  const toml::node* there = find(text, edit);
  if (!wanted || there == nullptr) return false;
  toml::table stored, expected;
  stored.insert("v", *there);
  expected.insert("v", *wanted->get("v"));
  return stored == expected;
}

}  // namespace

std::string toml_text(std::string_view text) {
  constexpr std::size_t escape_size = 6;  // a backslash, `u` and four digits
  const std::string json = quoted(text);
  const auto unit_at = [&](std::size_t at) -> unsigned {
    unsigned unit = 0;
    const bool is_escape = json.compare(at, 2, "\\u") == 0 && at + escape_size <= json.size();
    if (is_escape) std::from_chars(json.data() + at + 2, json.data() + at + escape_size, unit, 16);
    return unit;
  };
  std::string out;
  for (std::size_t at = 0; at < json.size();) {
    if (json[at] != '\\') {
      out += json[at++];
      continue;
    }
    // JSON escapes a character above U+FFFF as two surrogates, which TOML forbids.
    const unsigned high = unit_at(at);
    const bool is_pair = high >= 0xD800 && high < 0xDC00;
    if (is_pair) {
      out += fmt::format("\\U{:08X}", 0x10000 + ((high - 0xD800) << 10) + (unit_at(at + escape_size) - 0xDC00));
    } else {
      out += json.substr(at, 2);
    }
    at += is_pair ? 2 * escape_size : 2;
  }
  return out;
}

std::string toml_list(const std::vector<std::string>& texts) {
  std::string out = "[";
  for (const std::string& text : texts) {
    if (out.size() > 1) out += ", ";
    out += toml_text(text);
  }
  return out + ']';
}

std::optional<std::vector<std::string>> excepted_in(std::string_view toml_text, const std::string& table,
                                                    const std::string& rule, std::string& problem) {
  const auto whole = parsed(toml_text, problem);
  if (!whole) return {};
  std::vector<std::string> names;
  const toml::node* there = find(*whole, {.table = table, .rule = rule, .key = "except", .literal = {}});
  if (there == nullptr || !there->is_array()) return names;
  for (const toml::node& item : *there->as_array()) {
    if (const auto text = item.value_exact<std::string>()) names.push_back(*text);
  }
  return names;
}

std::string apply_edit(const config_edit& edit, std::string& toml_text) {
  std::string problem;
  const auto before = parsed(toml_text, problem);
  if (!before) return problem;
  std::string changed = toml_text;
  write(edit, *before, changed);
  auto after = parsed(changed, problem);
  toml::table rest = *before;
  const bool is_there = after && has_setting(*after, edit);
  if (after) erase(edit, *after);
  erase(edit, rest);
  if (!is_there || *after != rest) {
    return head_of(edit) + " cannot be edited automatically; write by hand: " + edit.key + " = " + edit.literal;
  }
  toml_text = std::move(changed);
  return {};
}

}  // namespace digd::cli
