// The arms of the comparison, and the playing of one run.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bench/healing/wire.h"
#include "bench/healing/world.h"

namespace digd::bench {

struct arm {
  enum class kind : std::uint8_t { nobody, engine, control, judge };
  std::string name;
  kind kind = kind::engine;
  regime asks;  // for `engine` only
};

// In the order of the tables: without, observe, control, judge, digd, digd with the settings advised for large teams
// (these are the `main_arms`), digd with each rule alone, digd without each rule.
const std::vector<arm>& arms();
inline constexpr std::size_t main_arms = 6;
// Arms of the earlier tuning, played on other seeds than the reported ones, to choose texts and attempts.
const std::vector<arm>& tried();
// An arm of either list; null if there is none.
const arm* arm_named(const std::string& name);

outcome play(const cell& where, std::uint64_t seed, const arm& treatment, const parameters& parameters = {});

}  // namespace digd::bench
