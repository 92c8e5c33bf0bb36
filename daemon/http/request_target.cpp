#include "daemon/http/request_target.h"

#include <algorithm>
#include <charconv>

#include "daemon/http/request_check.h"

namespace digd::daemon {

namespace {

// In a path, "+" means "+" and no space.
std::optional<std::string> decode_part(std::string_view part) {
  std::string plain;
  for (const char c : part) {
    if (c == '+') {
      plain += "%2B";
    } else {
      plain += c;
    }
  }
  return decode_percent(plain);
}

bool split_path(std::string_view path, std::vector<std::string>& out) {
  if (!path.starts_with('/')) return false;
  path.remove_prefix(1);
  if (path.empty()) return true;
  for (;;) {
    const std::size_t slash = std::min(path.find('/'), path.size());
    auto part = decode_part(path.substr(0, slash));
    if (!part || out.size() == max_parts) return false;
    out.push_back(std::move(*part));
    if (slash == path.size()) return true;
    path.remove_prefix(slash + 1);
  }
}

bool split_query(std::string_view query, request_target& out) {
  while (!query.empty()) {
    const std::size_t end = std::min(query.find('&'), query.size());
    const std::string_view pair = query.substr(0, end);
    query.remove_prefix(std::min(end + 1, query.size()));
    if (pair.empty()) continue;
    if (out.query.size() == max_parts) return false;
    const std::size_t equals = std::min(pair.find('='), pair.size());
    auto name = decode_percent(pair.substr(0, equals));
    auto value = decode_percent(pair.substr(std::min(equals + 1, pair.size())));
    if (!name || !value) return false;
    out.query.emplace_back(std::move(*name), std::move(*value));
  }
  return true;
}

}  // namespace

const std::string* request_target::parameter(std::string_view name) const {
  const auto found = std::find_if(query.begin(), query.end(), [&](const auto& item) { return item.first == name; });
  return found == query.end() ? nullptr : &found->second;
}

std::optional<request_target> split_target(std::string_view target) {
  request_target out;
  const std::size_t mark = std::min(target.find('?'), target.size());
  if (!split_path(target.substr(0, mark), out.path)) return std::nullopt;
  if (!split_query(target.substr(std::min(mark + 1, target.size())), out)) return std::nullopt;
  return out;
}

std::optional<std::uint64_t> whole_number(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || ec != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace digd::daemon
