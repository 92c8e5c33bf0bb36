// The arms of the comparison, and the playing of one run.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bench/healing/wire.h"
#include "bench/healing/world.h"

namespace digd::bench {

struct arm {
  enum class kind : std::uint8_t { nobody, engine, blind, random, judge };
  std::string name;
  kind kind = kind::engine;
  regime asks;          // for `engine`; for `blind` too if digd heals beside it
  int max_returns = 0;  // for `blind` only
};

// In the order of the tables: plain, observe, enforce, blind, random, judge (these are the `main_arms`), digd with each
// rule alone, digd without each rule, and digd and the blind guard with fifteen returns.
const std::vector<arm>& arms();
inline constexpr std::size_t main_arms = 6;
// The arms of the second round: arms of the first one, then early termination that skips repeated work, and the blind
// guard beside all rules but early termination.
const std::vector<arm>& second_round_arms();
// Of either round; null if there is none.
const arm* arm_named(const std::string& name);

outcome play(const cell& where, std::uint64_t seed, const arm& treatment, const parameters& parameters = {});

}  // namespace digd::bench
