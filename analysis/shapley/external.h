// A game played by an external program, in batches over its standard input and output, one JSON object a line
// (docs/shapley.md, "Your simulator"; examples/shapley_simulator.py).
//
//   → {"type":"hello","protocol":1}
//   ← {"type":"game","title":"…","players":[{"agent":"a","step":1,"behaviours":["x"],"name":"…"}],"threshold":0.5}
//   → {"type":"evaluate","id":1,"sets":[[0,2],[]]}      the players kept, by index from 0
//   ← {"type":"risks","id":1,"risks":[0.7,0.1]}
//
// Each evaluator runs its own process in its own process group, so that Ctrl-C reaches digctl alone. A process that
// dies, is silent for longer than `timeout_ms` or gives an invalid answer is ended, restarted and asked again. After
// `restarts` failures of one request the evaluator gives up and says why. Bounds: `max_external_players`, `batch`, and
// `max_line_bytes` for an answer (child_process.h).
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "analysis/shapley/game.h"

namespace digd::shapley {

struct external_options {
  std::string command;                      // for /bin/sh -c
  int timeout_ms = 60'000;                  // for one answer
  int restarts = 3;                         // for one request
  std::size_t batch = 256;                  // sets in one request, at most
  const std::atomic<bool>* stop = nullptr;  // set from outside: stop waiting
};

inline constexpr std::size_t max_external_players = 100'000;

struct external_result {
  std::string problem;  // empty: `game` is set
  std::unique_ptr<shapley::game> game;
};

external_result make_external_game(const external_options& options);

}  // namespace digd::shapley
