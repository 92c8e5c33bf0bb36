// The arms of the comparison, and one run of one of them.
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
  regime asks;  // engine
};

// In the order of the tables: without, observe, control, judge, digd, digd as advised for large teams (`main_arms`),
// digd with each rule alone, digd without each.
const std::vector<arm>& arms();
inline constexpr std::size_t main_arms = 6;
// What was tried on other seeds than those reported, to choose texts and attempts.
const std::vector<arm>& tried();
// Of either list; null: none.
const arm* arm_named(const std::string& name);

outcome play(const cell& where, std::uint64_t seed, const arm& which, const parameters& parameters = {});

}  // namespace digd::bench
