// The random draws of the bench. A draw is a pure function of (seed, purpose, agent, nth, sub), independent of earlier
// draws.
//
// Two arms with the same seed therefore live in the same world until an intervention makes a difference, and agree
// again wherever it has no effect. Thread: any; constant.
#pragma once

#include <cmath>
#include <cstdint>

#include "base/random.h"

namespace digd::bench {

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
  judge,
  overlook,
  trust,
  vague,
  ask,
  ask_late,
  reply,
  resend
};

class draws {
 public:
  explicit draws(std::uint64_t seed) : seed_(seed) {}
  // `agent`: below 2^16; `nth`: its activation, or an event (below 2^28); `sub`: number within that (below 2^20).
  random_stream at(purpose purpose, std::uint64_t agent = 0, std::uint64_t nth = 0, std::uint64_t sub = 0) const {
    return {seed_, purpose, agent << 48 | nth << 20 | sub};
  }
  bool chance(double p, purpose purpose, std::uint64_t agent, std::uint64_t nth, std::uint64_t sub = 0) const {
    return at(purpose, agent, nth, sub).chance(p);
  }

 private:
  std::uint64_t seed_;
};

// A lognormal draw; `spread` is the standard deviation of the logarithm.
inline double lognormal(random_stream s, double median, double spread) {
  return median * std::exp(spread * s.normal());
}

}  // namespace digd::bench
