#include "graph/witness.h"

#include <algorithm>
#include <boost/unordered/unordered_flat_map.hpp>
#include <string_view>
#include <utility>

#include "base/quote.h"

namespace digd::graph {

namespace {

// A node of the bipartite graph.
struct place {
  bool is_event = false;
  std::uint32_t index = nobody;
  bool operator==(const place&) const = default;
};

// The bytes of a node and of an edge in JSON, without their two names: `{"id":,"agent":},` and
// `{"kind":"delivered","from":,"to":,"label":"consume"},`.
constexpr std::size_t node_frame_bytes = 16, edge_frame_bytes = 51;

std::uint64_t key(place p) { return (std::uint64_t{p.is_event} << 32) | p.index; }

class builder {
 public:
  builder(const graph& g, std::size_t max_visits, std::size_t max_bytes)
      : graph_(g), max_visits_(max_visits), max_bytes_(max_bytes) {}

  void add(place p) {
    if (chosen_.contains(key(p))) return;
    if (nodes_.size() >= max_witness_nodes) {
      out_.truncated = true;
      return;
    }
    chosen_.emplace(key(p), false);
    nodes_.push_back(p);
  }

  // Joins the named nodes into as few pieces as the graph allows, along shortest paths.
  void join() {
    const std::vector<place> named = nodes_;
    if (named.empty()) return;
    joined_.emplace(key(named.front()), true);
    for (std::size_t i = 1; i < named.size(); ++i) {
      if (!joined_.contains(key(named[i]))) connect(named[i]);
    }
  }

  std::size_t visits() const { return visits_; }

  witness finish(const std::vector<event_index>& pending_of) {
    for (const place p : nodes_) p.is_event ? write_event(p.index) : write_activation(p.index);
    for (const place p : nodes_) write_edges(p);
    for (const event_index e : pending_of) write_pending(e);
    graph_.count_visited(visits_ + nodes_.size());
    return std::move(out_);
  }

 private:
  // Calls `each` until it returns false. A forgotten event counts as visited here; `each` counts the others.
  template <class Each>
  void for_each_neighbour(place p, Each each) {
    if (p.is_event) {
      const event_node& e = graph_.event(p.index);
      if (e.source != nobody && !each(place{false, e.source})) return;
      for (const activation_index v : e.inputs_of) {
        if (!each(place{false, v})) return;
      }
      return;
    }
    const auto visit = [&](event_ref ref) {
      const event_node* e = graph_.resolve(ref);
      return e == nullptr || !e->remembered ? count_visit() : each(place{true, ref.index});
    };
    const activation_node& v = graph_.activation(p.index);
    for (const activation_input& input : v.inputs) {
      if (!visit(input.event)) return;
    }
    for (const event_ref output : v.outputs) {
      if (!visit(output)) return;
    }
  }

  // False: all visits are used up.
  bool count_visit() {
    if (visits_ >= max_visits_) return false;
    ++visits_;
    return true;
  }

  // Searches breadth first from `start` for the nearest joined node, and adds the nodes on the path.
  void connect(place start) {
    boost::unordered_flat_map<std::uint64_t, place> reached_from;
    std::vector<place> queue{start};
    reached_from.emplace(key(start), start);
    joined_.emplace(key(start), true);
    for (std::size_t at = 0; at < queue.size(); ++at) {
      place found;
      for_each_neighbour(queue[at], [&](place next) {
        if (!count_visit()) return false;
        if (!reached_from.emplace(key(next), queue[at]).second) return true;
        queue.push_back(next);
        if (joined_.contains(key(next)) && !(next == start)) found = next;
        return found.index == nobody;
      });
      if (visits_ >= max_visits_) out_.truncated = true;
      if (found.index == nobody && visits_ >= max_visits_) return;
      if (found.index == nobody) continue;
      for (place p = found; !(p == start); p = reached_from.at(key(p))) {
        add(p);
        joined_.emplace(key(p), true);
      }
      return;
    }
  }

  bool has_room(std::size_t frame_bytes, std::string_view one_name, std::string_view other_name) {
    const std::size_t bytes = frame_bytes + quoted_size(one_name) + quoted_size(other_name);
    if (bytes_ + bytes > max_bytes_) {
      out_.truncated = true;
      return false;
    }
    bytes_ += bytes;
    return true;
  }

  bool is_written(place p) const {
    const auto found = chosen_.find(key(p));
    return found != chosen_.end() && found->second;
  }

  void write_event(event_index e) {
    const event_node& node = graph_.event(e);
    std::string agent = node.source_agent == nobody ? std::string() : graph_.agent(node.source_agent).name;
    if (!has_room(node_frame_bytes, node.id, agent)) return;
    out_.events.push_back({node.id, std::move(agent)});
    chosen_[key({true, e})] = true;
  }

  void write_activation(activation_index v) {
    const activation_node& node = graph_.activation(v);
    const std::string& agent = graph_.agent(node.agent).name;
    if (!has_room(node_frame_bytes, node.id, agent)) return;
    out_.activations.push_back({node.id, agent});
    chosen_[key({false, v})] = true;
  }

  void add_edge(witness::edge edge) {
    if (has_room(edge_frame_bytes, edge.from, edge.to)) out_.edges.push_back(std::move(edge));
  }

  void write_edges(place p) {
    if (!is_written(p)) return;
    if (p.is_event) {
      const event_node& e = graph_.event(p.index);
      if (e.source != nobody && is_written({false, e.source})) {
        add_edge({witness::edge_kind::generated, graph_.activation(e.source).id, e.id, reaction::none});
      }
      return;
    }
    const activation_node& v = graph_.activation(p.index);
    graph_.count_visited(v.inputs.size());
    for (const activation_input& input : v.inputs) {
      const event_node* e = graph_.resolve(input.event);
      if (e == nullptr || !is_written({true, input.event.index})) continue;
      add_edge({witness::edge_kind::delivered, e->id, v.id, input.reaction});
    }
  }

  void write_pending(event_index e) {
    if (!is_written({true, e})) return;
    const event_node& node = graph_.event(e);
    std::size_t visited = 0;
    for (const delivery& d : node.deliveries) {
      if (visited == max_witness_visits ||
          (d.state == delivery_state::pending && pending_edges_ == max_witness_nodes)) {
        out_.truncated = true;
        break;
      }
      ++visited;
      if (d.state != delivery_state::pending) continue;
      ++pending_edges_;
      add_edge({witness::edge_kind::pending, node.id, graph_.agent(d.agent).name, reaction::none});
    }
    graph_.count_visited(visited);
  }

  const graph& graph_;
  const std::size_t max_visits_, max_bytes_;
  witness out_;
  std::vector<place> nodes_;
  boost::unordered_flat_map<std::uint64_t, bool> chosen_;  // true: written
  boost::unordered_flat_map<std::uint64_t, bool> joined_;
  std::size_t visits_ = 0;
  std::size_t pending_edges_ = 0;
  std::size_t bytes_ = 0;
};

}  // namespace

witness make_witness(const graph& g, const witness_names& names, std::size_t& visits_left, std::size_t max_bytes) {
  builder b(g, std::min(max_witness_visits, visits_left), std::min(max_witness_bytes, max_bytes));
  if (names.subject != nobody) b.add({false, names.subject});
  for (const event_index e : names.events) b.add({true, e});
  for (const activation_index v : names.activations) b.add({false, v});
  b.join();
  visits_left -= b.visits();
  return b.finish(names.pending_of);
}

}  // namespace digd::graph
