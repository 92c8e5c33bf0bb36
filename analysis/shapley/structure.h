// The structure game: which activations of a recorded run caused its failures. Works on any trace.
//
// v(S): the run is replayed through the engine, and healthy counterparts replace the activations outside S
// (counterpart.h, docs/shapley.md). An activation, kept or not, takes place if it had no inputs or at least one input
// still exists. Missing inputs are dropped; an id that was an input before it was announced always exists. If the
// engine refuses an end in such a replay, the activation ends as its counterpart would, without outputs; any other
// refused message is left out. Risk = Σ weight × detections + weight × unresolved work at the end. Work is resolved if
// a submitted answer builds on it.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "analysis/shapley/game.h"

namespace digd::shapley {

struct structure_options {
  double failure_weight = 1;
  double warning_weight = 0.25;
  double unresolved_weight = 1;
  std::size_t steps = 20;  // equal parts of the run's time; at most the number of activations
};

struct structure_result {
  std::string problem;  // empty: `game` is set
  std::unique_ptr<shapley::game> game;
  std::size_t detections = 0;  // in the recorded run
};

// `trace`: the text of a trace file. Cost of one evaluation: one replay of the run.
structure_result make_structure_game(std::string_view trace, const structure_options& options);

}  // namespace digd::shapley
