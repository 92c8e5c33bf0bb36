#include "ingest/importers/whowhen_text.h"

#include <algorithm>

#include "base/text.h"

namespace digd::importers {
namespace {

constexpr std::string_view spaces = " \t\r\n";
constexpr std::string_view emphasis = "*_`#>";
constexpr std::size_t max_mark_bytes = 64;  // at the start of a line that may give the final answer

bool is_word(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || byte >= 0x80;
}

std::string_view trim(std::string_view text, std::string_view bytes = spaces) {
  const auto first = text.find_first_not_of(bytes);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(bytes) - first + 1);
}

// Whether nothing but emphasis and spaces lies between `at` and the start of its line or sentence.
bool starts_sentence(std::string_view text, std::size_t at) {
  bool space = false;
  while (at > 0) {
    const char c = text[--at];
    if (c == '\n') return true;
    if (c == ' ' || c == '\t') {
      space = true;
    } else if (c == '.' || c == '!' || c == '?') {
      return space;
    } else if (emphasis.find(c) == std::string_view::npos && c != '-') {
      return false;
    }
  }
  return true;
}

bool addresses_at(std::string_view text, std::size_t at, std::size_t length) {
  const auto end = at + length;
  if (end < text.size() && is_word(text[end])) return false;
  if (at > 0 && text[at - 1] == '@') return at == 1 || !is_word(text[at - 2]);
  if (at > 0 && is_word(text[at - 1]) && text[at - 1] != '_') return false;
  const auto behind = text.find_first_not_of(emphasis, end);
  return behind != std::string_view::npos && text[behind] == ',' && starts_sentence(text, at);
}

}  // namespace

role_parts parse_role(std::string_view role) {
  role_parts parts;
  role = trim(role);
  parts.agent = role;
  const auto open = role.rfind('(');
  if (open != std::string_view::npos && open > 0 && role.back() == ')') {
    const auto name = trim(role.substr(0, open));
    const auto note = trim(role.substr(open + 1, role.size() - open - 2));
    if (!name.empty()) parts.agent = name;
    if (note == "thought") parts.form = step_form::thought;
    if (note == "termination condition") parts.form = step_form::termination;
    if (note.starts_with("->")) parts.addressee = trim(note.substr(2));
  }
  if (parts.agent == "human") parts.form = step_form::human;
  return parts;
}

bool is_no_code_notice(std::string_view text) { return trim(text).starts_with("There is no code from the last "); }

bool is_execution_report(std::string_view text) { return trim(text).starts_with("exitcode: "); }

bool has_code_block(std::string_view text) { return text.find("```") != std::string_view::npos; }

bool ends_with_terminate(std::string_view text) {
  constexpr std::string_view word = "TERMINATE";
  text = trim(text, " \t\r\n*_`.!");
  if (!text.ends_with(word)) return false;
  return text.size() == word.size() || !is_word(text[text.size() - word.size() - 1]);
}

bool has_final_answer(std::string_view text) {
  constexpr std::string_view mark = "final answer";
  if (text.find("\\boxed{") != std::string_view::npos) return true;
  while (!text.empty()) {
    const auto end = std::min(text.find('\n'), text.size());
    std::string line(trim(text.substr(0, end), " \t\r*_`#>-"));
    text.remove_prefix(std::min(text.size(), end + 1));
    line.resize(std::min(line.size(), max_mark_bytes));
    line = lower(line);
    if (line.starts_with("the ")) line.erase(0, 4);
    if (!line.starts_with(mark)) continue;
    const auto behind = line.find_first_not_of(" *_`", mark.size());
    if (behind == std::string::npos) return true;  // a heading
    if (line[behind] == ':' || line.compare(behind, 3, "is ") == 0 || line.compare(behind, 3, "is:") == 0) return true;
  }
  return false;
}

std::vector<std::string_view> addressed_names(std::string_view text, const std::vector<std::string_view>& names,
                                              std::string_view speaker) {
  std::vector<std::string_view> found;
  for (const auto name : names) {
    if (name.empty() || name == speaker) continue;
    for (auto at = text.find(name); at != std::string_view::npos; at = text.find(name, at + 1)) {
      if (!addresses_at(text, at, name.size())) continue;
      found.push_back(name);
      break;
    }
  }
  return found;
}

}  // namespace digd::importers
