#include "report/words.h"

#include <algorithm>
#include <cctype>

#include "report/picture/text.h"

namespace digd::report {

std::string short_name(const std::string& name, std::size_t most) { return picture::fit(picture::safe(name), most); }

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
