// The Count Frequency problem: how often each value occurs in an array of integers. Also an agent's erroneous count of
// a part, and the error of an answer.
//
// Thread: any; constant. Bounds: one byte for each integer.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "bench/healing/cover.h"
#include "bench/healing/draws.h"
#include "bench/healing/parameters.h"

namespace digd::bench {

using table = std::array<double, parameters::values>;  // count of each value

// A result that agents hand to each other.
struct solution {
  table counts{};
  cover counted;  // the positions that went into it; its author believes that each is counted once
};

class problem {
 public:
  problem(std::int64_t size, const draws& chance);

  range whole() const { return {0, static_cast<std::int64_t>(array_.size())}; }
  table truth(range part) const;
  // A model's count of the part's raw data, with errors that grow with its size (`parameters::error_most`).
  solution count(range part, const parameters& p, random_stream chance) const;
  // Root mean squared error over the values (DIG to Heal, section 6).
  double rmse(const table& answer) const;

 private:
  std::vector<std::uint8_t> array_;
};

}  // namespace digd::bench
