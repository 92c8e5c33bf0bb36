// The structure game: which activations of a recorded run made its failures (works on any trace).
//
// v(S): the run is replayed through the engine with the activations outside S doing nothing: all their inputs wait and
// they have no outputs. An activation, kept or not, happens if it had no inputs or at least one of them still exists;
// missing inputs are dropped, and an id that was an input before it was announced exists. Whatever else the engine
// refuses in such a replay is left out; an end that it refuses becomes one that does nothing.
// Risk = Σ weight × firings + weight × unresolved work at the end, unresolved work being R of docs/semantics.md.
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
  std::size_t steps = 20;  // the run's time is cut into so many equal parts; fewer where there are fewer activations
};

struct structure_result {
  std::string problem;  // empty: `game` is set
  std::unique_ptr<shapley::game> game;
  std::size_t detections = 0;  // of the recorded run
};

// `trace`: the text of a trace file.
structure_result make_structure_game(std::string_view trace, const structure_options& options);

}  // namespace digd::shapley
