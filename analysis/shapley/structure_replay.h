// One replay of a recorded run in which healthy counterparts replace some activations.
#pragma once

#include <cstdint>
#include <span>

#include "analysis/shapley/counterpart.h"
#include "analysis/shapley/recorded_run.h"

namespace digd::shapley {

// The risk of one failure, of one warning, and of one unresolved event (structure.h).
struct risk_weights {
  double failure, warning, unresolved;
};

// `kept`: one byte an activation. Thread-safe: the run and the facts are only read.
double structure_risk(const recorded_run& run, const recorded_facts& facts, const risk_weights& weights,
                      std::span<const std::uint8_t> kept);

}  // namespace digd::shapley
