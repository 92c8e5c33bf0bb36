#include "report/lit_path.h"

#include <algorithm>
#include <deque>

namespace digd::report {

namespace {

using picture::index;

// Events and activations as one set of nodes: events first.
class backwards {
 public:
  backwards(const picture::model& of, const std::vector<index>& targets)
      : graph_(of), next_(of.events.size() + of.activations.size(), picture::none), seen_(next_.size(), false) {
    std::deque<index> queue;
    for (const index t : targets) {
      if (seen_[t]) continue;
      seen_[t] = true;
      queue.push_back(t);
    }
    while (!queue.empty()) {
      const index at = queue.front();
      queue.pop_front();
      each_cause(at, [&](index cause) {
        if (seen_[cause]) return;
        seen_[cause] = true;
        next_[cause] = at;
        queue.push_back(cause);
      });
      if (!is_root(at)) continue;
      const bool system = at < graph_.events.size() && graph_.events[at].system;
      if (root_ == picture::none || (root_is_system_ && !system)) {
        root_ = at;
        root_is_system_ = system;
      }
    }
  }

  bool reached(index node) const { return seen_[node]; }
  // The nearest root event, otherwise the nearest event that digd made; picture::none: every path is a cycle.
  index root() const { return root_; }
  // From `node` to the target that it leads to.
  std::vector<index> path(index node) const {
    std::vector<index> indexes;
    for (; node != picture::none; node = next_[node]) indexes.push_back(node);
    return indexes;
  }

 private:
  bool is_root(index node) const {
    bool any = false;
    each_cause(node, [&](index) { any = true; });
    return !any;
  }

  template <class Each>
  void each_cause(index node, Each each) const {
    const index events = static_cast<index>(graph_.events.size());
    if (node < events) {
      if (graph_.events[node].source != picture::none) each(events + graph_.events[node].source);
      return;
    }
    for (const picture::input& i : graph_.activations[node - events].inputs) each(i.event);
  }

  const picture::model& graph_;
  std::vector<index> next_;  // towards the target
  std::vector<bool> seen_;
  index root_ = picture::none;
  bool root_is_system_ = false;
};

// The detection's node in the graph: its event, else its evidence, else the last activation of its agent.
std::vector<index> places_of(const picture::model& graph, const detection& about) {
  constexpr std::size_t max_places = 8;
  std::vector<index> places;
  const auto add = [&](std::string_view id) {
    if (const index e = graph.find_event(id); e != picture::none && places.size() < max_places) places.push_back(e);
  };
  if (about.event) add(*about.event);
  if (!places.empty()) return places;
  for (const std::string& id : about.evidence) add(id);
  if (!places.empty() || !about.agent) return places;
  for (std::size_t v = graph.activations.size(); v > 0; --v) {
    const picture::activation& a = graph.activations[v - 1];
    if (graph.lanes[a.lane].name == *about.agent && a.started <= about.ts) {
      return {static_cast<index>(graph.events.size() + v - 1)};
    }
  }
  return {};
}

index node_of(const picture::model& graph, const blamed& suspect) {
  for (std::size_t v = 0; v < graph.activations.size() && !suspect.activation.empty(); ++v) {
    if (graph.activations[v].id == suspect.activation) return static_cast<index>(graph.events.size() + v);
  }
  return suspect.event.empty() ? picture::none : graph.find_event(suspect.event);
}

std::vector<index> joined(std::vector<index> first, const std::vector<index>& then) {
  first.insert(first.end(), then.begin() + (first.empty() ? 0 : 1), then.end());
  return first;
}

std::vector<index> from_its_root(const backwards& to) {
  return to.root() == picture::none ? std::vector<index>{} : to.path(to.root());
}

}  // namespace

lit_path light(const picture::model& graph, const std::vector<const detection*>& found,
               const std::vector<blamed>& suspects) {
  constexpr std::size_t max_tried = 60;
  lit_path out;
  std::vector<index> path, places;
  for (const blamed& suspect : suspects) {
    const index culprit = node_of(graph, suspect);
    if (culprit == picture::none) continue;
    for (std::size_t i = 0; i < std::min(found.size(), max_tried) && path.empty(); ++i) {
      places = places_of(graph, *found[i]);
      const backwards to_place(graph, places);
      if (!to_place.reached(culprit)) continue;
      path = joined(from_its_root(backwards(graph, {culprit})), to_place.path(culprit));
      out.by = &suspect;
      out.to = found[i];
    }
    if (!path.empty()) break;
  }
  for (std::size_t i = 0; i < found.size() && path.empty(); ++i) {
    places = places_of(graph, *found[i]);
    path = from_its_root(backwards(graph, places));
    out.to = found[i];
  }
  if (path.empty()) return {};

  const index events = static_cast<index>(graph.events.size());
  out.lit.events.assign(graph.events.size(), false);
  out.lit.activations.assign(graph.activations.size(), false);
  const auto mark = [&](const std::vector<index>& nodes) {
    for (const index n : nodes) {
      if (n < events) out.lit.events[n] = true;
      else out.lit.activations[n - events] = true;
    }
  };
  mark(path);
  for (const index place : places) mark(from_its_root(backwards(graph, {place})));
  for (const index n : path) {
    if (n < events) out.stops.push_back({false, graph.events[n].id, {}});
    else
      out.stops.push_back(
          {true, graph.activations[n - events].id, graph.lanes[graph.activations[n - events].lane].name});
  }
  return out;
}

}  // namespace digd::report
