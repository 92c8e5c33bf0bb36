// When a condition has held long enough, and when an activation stalls (semantics.md, "By time").
//
// No clock: the times are handed in. An event's own window state stands in the graph; the run's two stand here.
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <optional>
#include <set>
#include <string_view>
#include <vector>

#include "graph/graph.h"
#include "model/settings.h"

namespace digd {

// What is due next. Stalls come before windows, windows in the order of `due_kind`.
enum class due_kind : std::uint8_t { stall, deadlock, missing_termination, orphan };

struct due_item {
  milliseconds at = 0;
  due_kind kind = due_kind::stall;
  std::uint32_t index = graph::nobody;  // activation of a stall, event of an orphan
};

class windows {
 public:
  windows(graph::graph& g, const run_settings& settings) : graph_(g), settings_(settings) {}

  // The first of what is still to come; none if nothing is running.
  std::optional<due_item> next() const;

  // Starts and clears windows after the graph has changed at `now`. With `live` false (a terminal or ended run)
  // no condition holds.
  void update(milliseconds now, bool live);

  // A window fired. Healed, it starts anew with the next `update` if its condition still holds; else it stays
  // silent until the condition has been false.
  void fired(const due_item& due_item, bool healed);

  // The windows whose condition holds and that have not fired since it became true: DL, MC, then OE by event id.
  // `at` is when each would fire.
  std::vector<due_item> unfired() const;

  // An orphan was reported when it was blocked; it counts as fired.
  void reported_orphan(graph::event_index e);

 private:
  struct run_window {
    graph::window_state state = graph::window_state::idle;
    bool fired = false;  // since the condition became true, healed or not
    milliseconds due_ms = 0;
  };
  struct orphan_entry {
    milliseconds due_ms;
    graph::event_index event;
  };
  struct orphan_order {
    const graph::graph* graph;
    bool operator()(const orphan_entry& a, const orphan_entry& b) const {
      if (a.due_ms != b.due_ms) return a.due_ms < b.due_ms;
      return graph->event(a.event).id < graph->event(b.event).id;
    }
  };

  void step(run_window& w, rule_id id, milliseconds now, bool live);
  void step_orphan(graph::event_index e, milliseconds now, bool live);
  void set_orphan(graph::event_index e, graph::window_state state, milliseconds due_ms);

  graph::graph& graph_;
  const run_settings& settings_;
  run_window deadlock_;
  run_window missing_termination_;
  std::set<orphan_entry, orphan_order> orphans_{orphan_order{&graph_}};  // those running
  boost::unordered_flat_map<graph::event_index, milliseconds> orphan_due_;
};

// a + b, not beyond the largest time.
milliseconds later(milliseconds a, milliseconds b);

}  // namespace digd
