#include "daemon/settings/option_kinds.h"

#include <algorithm>
#include <array>
#include <charconv>

namespace digd::daemon::kinds {

std::string take_number(const toml::node& v, std::int64_t min_value, std::int64_t max_value, std::int64_t& out) {
  const auto given = v.value_exact<std::int64_t>();
  if (!given || *given < min_value || *given > max_value) {
    return "must be a whole number from " + std::to_string(min_value) + " to " + std::to_string(max_value);
  }
  out = *given;
  return {};
}

std::string take_words(const toml::node& v, std::string& out) {
  const auto given = v.value_exact<std::string>();
  if (!given) return "must be a string";
  out = *given;
  return {};
}

std::string take_choice(const toml::node& v, const std::vector<std::string_view>& choices, std::string& out) {
  const auto given = v.value_exact<std::string>();
  if (given && std::find(choices.begin(), choices.end(), *given) != choices.end()) {
    out = *given;
    return {};
  }
  std::string text;
  for (const std::string_view name : choices) text.append(text.empty() ? "" : ", ").append(digd::quoted(name));
  return "must be one of " + text;
}

std::string take_flag(const toml::node& v, bool& out) {
  const auto given = v.value_exact<bool>();
  if (!given) return "must be true or false";
  out = *given;
  return {};
}

std::string take_list(const toml::node& v, std::vector<std::string>& out) {
  const toml::array* items = v.as_array();
  if (items == nullptr) return "must be a list of strings";
  std::vector<std::string> taken;
  for (const toml::node& node : *items) {
    const auto text = node.value_exact<std::string>();
    if (!text) return "must be a list of strings";
    taken.push_back(*text);
  }
  out = std::move(taken);
  return {};
}

std::string list_literal(const std::vector<std::string>& texts) {
  std::string out = "[";
  for (const std::string& text : texts) out.append(out.size() > 1 ? ", " : "").append(digd::quoted(text));
  return out + ']';
}

std::string list_of_urls_literal(const std::vector<std::string>& urls) {
  std::vector<std::string> texts;
  for (const std::string& url : urls) texts.push_back(shown_url(url));
  return list_literal(texts);
}

std::string take_share(const toml::node& v, double& out) {
  const bool is_number = v.is_floating_point() || v.is_integer();
  const auto given = is_number ? v.value<double>() : std::nullopt;
  if (!given || !(*given >= 0 && *given <= 1)) return "must be a number from 0 to 1";
  out = *given;
  return {};
}

std::string share_literal(double value) {
  std::array<char, 32> text{};
  const auto [end, ec] = std::to_chars(text.data(), text.data() + text.size(), value);
  return ec == std::errc{} ? std::string(text.data(), end) : "0";
}

}  // namespace digd::daemon::kinds
