// The target of an HTTP request, split and decoded. Pure functions.
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

  // The first parameter of that name; null if there is none.
  const std::string* parameter(std::string_view name) const;
};

// Nothing if the target is not a path, is badly encoded, or has more than `max_parts` parts. Each part is decoded after
// the split, so that an encoded slash or dot stays part of a name.
std::optional<request_target> split_target(std::string_view target);
inline constexpr std::size_t max_parts = 16;

// A count written in decimal digits.
std::optional<std::uint64_t> whole_number(std::string_view text);

}  // namespace digd::daemon
