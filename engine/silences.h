// How long each open activation has been silent: when the guard `stall` is due.
//
// Reads no clock. Bounds: one entry for each open activation, while the guard is on. Thread: its run's engine thread.
// Lifetime: the graph and the settings outlive it; the run forgets an activation here before the graph does. Failure:
// none.
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>

#include "graph/graph.h"
#include "model/guard.h"

namespace digd {

class silences {
 public:
  silences(const graph::graph& g, const guard_settings& settings) : graph_(g), settings_(settings) {}

  // The activation started, sent an output or reported usage at `now`.
  void hear(graph::activation_index v, milliseconds now);
  void forget(graph::activation_index v);
  // Silences no longer count: the run is terminal or has ended, the guard is off, or judging has stopped.
  void clear();
  // Counts the silence of all open activations from `now` on, because the guard was off before.
  void restart(milliseconds now);

  struct due_silence {
    milliseconds at = 0;
    graph::activation_index activation = graph::nobody;
    std::uint64_t step = 0;  // of the guard's actions
  };
  // The silence that is due first; of several the one with the least activation id.
  std::optional<due_silence> next() const;
  // Call after the silence of `next` has fired. Schedules its next step, or removes it after the last of `steps`.
  void advance(std::size_t steps);

 private:
  struct order {
    const graph::graph* graph;
    bool operator()(const due_silence& a, const due_silence& b) const {
      if (a.at != b.at) return a.at < b.at;
      return graph->activation(a.activation).id < graph->activation(b.activation).id;
    }
  };
  void insert(const due_silence& item);

  const graph::graph& graph_;
  const guard_settings& settings_;
  std::set<due_silence, order> waiting_{order{&graph_}};
  boost::unordered_flat_map<graph::activation_index, milliseconds> due_;
};

}  // namespace digd
