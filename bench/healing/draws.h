// Chance, one stream a purpose: a draw is a pure function of (seed, purpose, who, nth, sub), never of what was drawn
// before. So two arms with the same seed live in the same world until an intervention parts them, and come
// together again in whatever it did not touch.
#pragma once

#include <cmath>
#include <cstdint>

#include "analysis/shapley/random.h"

namespace digd::bench {

using random_stream = shapley::random_stream;

enum class purpose : std::uint32_t {
  array = 0x100,
  root,
  forgetful,
  call_time,
  pickup,
  hang,
  take_up,
  parts,
  part_recipient,
  lost,
  given_twice,
  share,
  potato,
  pass_potato,
  reroute_target,
  early,
  combine,
  see,
  drop,
  error,
  follow,
  patience,
  chase,
  control,
  judge
};

class draws {
 public:
  explicit draws(std::uint64_t seed) : seed_(seed) {}
  // `who`: an agent (below 2^16); `nth`: its activation, or an event (below 2^28); `sub`: within it (below 2^20).
  random_stream at(purpose purpose, std::uint64_t who = 0, std::uint64_t nth = 0, std::uint64_t sub = 0) const {
    return {seed_, static_cast<shapley::purpose>(purpose), who << 48 | nth << 20 | sub};
  }
  bool chance(double p, purpose purpose, std::uint64_t who, std::uint64_t nth, std::uint64_t sub = 0) const {
    return at(purpose, who, nth, sub).chance(p);
  }

 private:
  std::uint64_t seed_;
};

// Of the given median; `spread` is the standard deviation of its logarithm.
inline double lognormal(random_stream s, double median, double spread) {
  return median * std::exp(spread * s.normal());
}

}  // namespace digd::bench
