// The game twinmarket: one call auction for each stock and day (Interpreting Emergent Extreme Events in MAS, appendix
// B.2). The baseline places no orders. Players are the (user, day) pairs with orders.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "analysis/shapley/game.h"

namespace digd::shapley {

inline constexpr std::size_t stock_count = 10;
inline constexpr std::array<const char*, stock_count> stock_names{"TLEI", "MEI",  "CPEI", "IEEI", "REEI",
                                                                  "TSEI", "CGEI", "TTEI", "EREI", "FSEI"};
inline constexpr std::array<double, stock_count> stock_weights{2.182, 8.946,  6.491,  3.137, .969,
                                                               .894,  18.245, 12.963, 13.16, 33.014};

struct twin_order {
  std::uint16_t day = 0, user = 0;
  std::uint8_t stock = 0, sell = 0;
  std::int32_t cents = 0;  // limit price
  std::int32_t lots = 0;
};

struct twin_trajectory {
  std::size_t agents = 0, steps = 0;  // `agents`: users; `steps`: days
  std::array<std::int32_t, stock_count> first_cents{};
  std::vector<twin_order> orders;  // sorted by day
  double threshold = 0;
  bool synthetic = false;
  std::uint64_t seed = 0;

  std::string fault() const;  // empty if sound, else the field and the expectation
};

std::unique_ptr<game> make_twin_game(twin_trajectory t);
twin_trajectory generate_twin(std::size_t agents, std::size_t steps, std::uint64_t seed);

// The call auction of one stock and day returns the close in cents, 0 if nothing trades. If the volume of one side is
// at least 2.5 times the other, the smaller side is replicated min(⌊ratio⌋ - 1, 3) more times. The close is the lowest
// limit price p that maximises min(volume bid at ≥ p, volume offered at ≤ p); if that is 0 there is no trade.
struct limit_order {
  std::int32_t cents, lots;
  std::uint8_t sell;
  std::uint8_t slot;  // index of the user among those with orders in this auction
};
// `sorted` by price; `keeps(order)` says whether an order counts.
template <class Keeps>
std::int32_t auction(std::span<const limit_order> sorted, Keeps keeps) {
  std::int64_t bid = 0, offered = 0;
  for (const limit_order& o : sorted) {
    if (keeps(o)) (o.sell ? offered : bid) += o.lots;
  }
  if (bid == 0 || offered == 0) return 0;
  const std::int64_t large = std::max(bid, offered), small = std::min(bid, offered);
  std::int64_t times = 1;
  if (2 * large >= 5 * small) times += std::min<std::int64_t>(large / small - 1, 3);
  const std::int64_t bid_times = bid < offered ? times : 1, offer_times = offered < bid ? times : 1;
  std::int64_t at_least = bid * bid_times, at_most = 0, best_volume = 0;  // bids at ≥ p, offers at ≤ p
  std::int32_t close = 0;
  for (std::size_t k = 0; k < sorted.size();) {
    const std::int32_t price = sorted[k].cents;
    std::int64_t bids_at_price = 0;
    bool any = false;
    for (; k < sorted.size() && sorted[k].cents == price; ++k) {
      if (!keeps(sorted[k])) continue;
      any = true;
      if (sorted[k].sell) {
        at_most += sorted[k].lots * offer_times;
      } else {
        bids_at_price += sorted[k].lots * bid_times;
      }
    }
    if (any && std::min(at_least, at_most) > best_volume) {
      best_volume = std::min(at_least, at_most);
      close = price;
    }
    at_least -= bids_at_price;
  }
  return close;
}

}  // namespace digd::shapley
