// How much memory each token holds. Engine threads add what their runs hold; `overload` decides by it.
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace digd::daemon {

// What a token holds, in approximate bytes.
struct token_weight {
  std::uint64_t bytes = 0;
  std::uint64_t largest_run = 0;         // of those that can degrade
  std::uint64_t largest_connection = 0;  // that much memory becomes free if it is closed
};
using token_weights = std::map<std::string, token_weight>;

}  // namespace digd::daemon
