// One replay of a recorded run in which healthy counterparts replace some activations.
#pragma once

#include <cstdint>
#include <span>

#include "analysis/shapley/counterpart.h"
#include "analysis/shapley/recorded_run.h"
#include "analysis/shapley/structure.h"

namespace digd::shapley {

// `kept`: one byte an activation. Thread-safe: the run and the facts are only read.
double structure_risk(const recorded_run& run, const recorded_facts& facts, const structure_options& options,
                      std::span<const std::uint8_t> kept);

}  // namespace digd::shapley
