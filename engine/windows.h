// Windows by time: when a rule's condition has held long enough, and when an activation stalls (semantics.md, "By
// time").
//
// Reads no clock: the caller gives the times. The graph keeps the state of an event's window; this class keeps the
// rest. Bounds: one window for each rule with windows of the run, and one for each live event. Several rules may have
// windows of the run, but only one may have windows of events (`catalog_problem`). Thread: its run's engine thread.
// Lifetime: the graph and the settings outlive it; an emptied graph needs new windows.
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <optional>
#include <set>
#include <vector>

#include "graph/graph.h"
#include "model/settings.h"
#include "rules/rule.h"

namespace digd {

// A stall or a window that is due. At the same time stalls come first, then the windows of the run in catalog order,
// then those of events by event id.
struct due_item {
  milliseconds at = 0;
  const rule* window_of = nullptr;      // null: a stall
  std::uint32_t index = graph::nobody;  // the activation that stalls, or the event whose window it is
};

class windows {
 public:
  windows(graph::graph& g, const run_settings& settings);

  // The item that is due next; none if nothing is running.
  std::optional<due_item> next() const;

  // Starts and clears windows after the graph has changed at `now`. If `live` is false (a terminal or ended run), no
  // condition holds. `on_hold`: an event waits for a person, so that the run is not at rest.
  void update(milliseconds now, bool live, bool on_hold);

  // Marks a window as fired. After a healing it starts again with the next `update` if its condition still holds;
  // otherwise it stays silent until the condition has been false.
  void fired(const due_item& item, bool healed);

  // The running windows that have not fired since their condition became true, in the order of `due_item`.
  std::vector<due_item> unfired() const;

  // Marks the event's window as fired: the rule reported the event when it was blocked.
  void mark_reported(graph::event_index e);

 private:
  struct run_window {
    const rule* owner;
    graph::window_state state = graph::window_state::idle;
    bool fired = false;  // since the condition became true, healed or not
    milliseconds due_ms = 0;
  };
  struct event_window {
    milliseconds due_ms;
    graph::event_index event;
  };
  struct event_order {
    const graph::graph* graph;
    bool operator()(const event_window& a, const event_window& b) const {
      if (a.due_ms != b.due_ms) return a.due_ms < b.due_ms;
      return graph->event(a.event).id < graph->event(b.event).id;
    }
  };

  bool is_on(const rule& owner) const { return settings_.effective_mode(owner.id) != mode::off; }
  void update_run_window(run_window& w, milliseconds now, bool live);
  void update_event_window(graph::event_index e, milliseconds now, bool live);
  void set_event_window(graph::event_index e, graph::window_state state, milliseconds due_ms);

  graph::graph& graph_;
  const run_settings& settings_;
  std::vector<run_window> run_windows_;  // in catalog order
  const rule* event_rule_ = nullptr;     // the rule whose windows belong to events; null: none
  bool are_events_watched_ = false;      // the last `update` found the run live and that rule on
  std::set<event_window, event_order> event_windows_{event_order{&graph_}};  // those running
  boost::unordered_flat_map<graph::event_index, milliseconds> event_due_;
  std::vector<graph::event_index> changed_;  // memory for `update`
};

// a + b, at most the largest time.
milliseconds later(milliseconds a, milliseconds b);

}  // namespace digd
