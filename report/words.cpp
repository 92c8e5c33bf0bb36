#include "report/words.h"

#include <algorithm>
#include <cctype>

#include "report/picture/text.h"

namespace digd::report {

std::string short_name(const std::string& name, std::size_t max_width) {
  return picture::fit(picture::safe(name), max_width);
}

std::string grouped(std::uint64_t n) {
  std::string out = std::to_string(n);
  for (std::size_t at = out.size(); at > 3; at -= 3) out.insert(at - 3, 1, ',');
  return out;
}

std::string counted(std::uint64_t n, const char* text, const char* many) {
  return grouped(n) + " " + (n == 1 ? text : many);
}

std::string rule_words(rule_id rule) {
  std::string out(to_string(rule));
  std::replace(out.begin(), out.end(), '_', ' ');
  return out;
}

std::string listed(const std::vector<std::string>& names) {
  std::string out;
  for (std::size_t i = 0; i < names.size(); ++i)
    out += (i == 0 ? "" : i + 1 == names.size() ? " and " : ", ") + names[i];
  return out;
}

std::string counted_rule(std::uint64_t n, rule_id rule) {
  const std::string name = rule_words(rule);
  if (n != 1) return grouped(n) + " × " + name;
  return (std::string_view("aeiou").find(name.front()) == std::string_view::npos ? "a " : "an ") + name;
}

std::string_view cause_words(cause of) {
  switch (of) {
    case cause::none: break;
    case cause::mode: return "the mode only reports";
    case cause::as_is: return "delivered before it could be judged";
    case cause::superseded: return "something else decides where the event goes";
    case cause::unsupported: return "the client cannot carry it out";
    case cause::target: return "no agent can act again";
    case cause::attempts: return "its attempts are used up";
    case cause::budget: return "the budget of the run is used up";
    case cause::ended: return "the run ended";
  }
  return {};
}

std::string quotable(const std::string& text, std::size_t max_width) {
  return picture::fit(without_escapes(picture::safe(text)), max_width);
}

std::string without_escapes(std::string_view safe) {
  std::string out;
  for (std::size_t i = 0; i < safe.size(); ++i) {
    if (safe[i] == '\\' && i + 1 < safe.size() && (safe[i + 1] == '"' || safe[i + 1] == '\\')) ++i;
    out += safe[i];
  }
  return out;
}

std::string capitalized(std::string text) {
  if (!text.empty()) text.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(text.front())));
  return text;
}

std::string_view command_at(std::string_view text, std::size_t at) {
  if (!text.substr(at).starts_with("`digctl ")) return {};
  const std::string_view inside = text.substr(at + 1, text.find('`', at + 1) - at - 1);
  const bool is_plain = at + 1 + inside.size() < text.size() && inside.find_first_of("<>&\n") == std::string_view::npos;
  return is_plain ? inside : std::string_view();
}

}  // namespace digd::report
