// Computes what tokens cost, from the prices that the operator configures (docs/guards.md).
//
// A client may name the tokens of each model in its `usage`, without a cost. digd then adds the cost to the message
// before the engine reads it and the archive stores it. So a replay needs no prices, and new prices change no stored
// run. Pure functions; any thread.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace digd::ingest {

// In the user's currency, for a million tokens.
struct model_price {
  std::string model;  // "*": of every model without a price of its own
  double input = 0, output = 0;
  bool operator==(const model_price&) const = default;
};

inline constexpr std::size_t max_prices = 1'000;
inline constexpr std::size_t max_added_bytes = 48;  // by `add_cost`

// Copies the message to `priced`, with `"cost":…` in its `usage`, and returns true. False, and `priced` stays as it is:
// the message has no `usage`, or its usage already has a cost, has no tokens with a price, or is malformed.
bool add_cost(std::string_view message, const std::vector<model_price>& prices, std::string& priced);

}  // namespace digd::ingest
