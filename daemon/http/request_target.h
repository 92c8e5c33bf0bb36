// What an HTTP request is about: the target split and decoded. Pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace digd::daemon {

struct request_target {
  std::vector<std::string> path;                           // "/v1/runs/a%2Fb" is v1, runs, a/b
  std::vector<std::pair<std::string, std::string>> query;  // decoded, in order

  // The first of that name; null if there is none.
  const std::string* parameter(std::string_view name) const;
};

// Nothing if it is no path of this host, badly encoded, or has more than `most_parts` parts. A part is decoded after
// the split, so that an encoded slash or dot stays part of a name and leads nowhere.
std::optional<request_target> split_target(std::string_view target);
inline constexpr std::size_t most_parts = 16;

// A count written in decimal digits.
std::optional<std::uint64_t> whole_number(std::string_view text);

}  // namespace digd::daemon
