// The uses of random numbers in this folder. Each is a stream of its own (base/random.h), so that a draw for one use
// never changes what another use draws.
#pragma once

#include <cstdint>

#include "base/random.h"

namespace digd::shapley {

enum class purpose : std::uint32_t {
  permutation = 1,
  owen = 2,
  subset = 3,
  generator = 4,
  random_scores = 5,
  test = 6
};

}  // namespace digd::shapley
