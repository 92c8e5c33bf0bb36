// What a healing changes in the graph: submits given up, events given back, deliveries intercepted.
#include <span>
#include <vector>

#include "graph/graph.h"

namespace digd::graph {

void graph::give_up_submit(event_index e) {
  event_node& node = events_[e];
  reduced_.of = nobody;  // the event is work now
  node.submit = false;
  node.gave_up_submit = true;
  if (node.source != nobody && node.is_work()) ++activations_[node.source].work_outputs;
  for (delivery& d : node.deliveries) {
    if (d.state == delivery_state::pending) close_delivery(e, d, delivery_state::withdrawn);
  }
  update_reachable(e);
  touch(e);
}

void graph::give_back(event_index e, agent_index to, bool was_recipient) {
  give(e, to);
  if (was_recipient) return;
  for (delivery& d : events_[e].deliveries) {
    if (d.agent == to) d.given_back = true;
  }
}

void graph::undo_give_back(event_index e) {
  for (delivery& d : events_[e].deliveries) {
    if (d.given_back && d.state == delivery_state::pending) close_delivery(e, d, delivery_state::withdrawn);
  }
}

void graph::intercept(event_index e, std::span<const agent_index> from) {
  event_node& node = events_[e];
  for (delivery& d : node.deliveries) {
    // Intercepted at an earlier message.
    if (d.state == delivery_state::intercepted) d.state = delivery_state::withdrawn;
  }
  for (const agent_index a : from) take(e, a, delivery_state::intercepted);
}

void graph::undo_interception(event_index e) {
  event_node& node = events_[e];
  node.is_withdrawn = false;
  touch(e);
  if (node.settled) return;
  std::vector<agent_index> again;
  for (delivery& d : node.deliveries) {
    if (d.state == delivery_state::intercepted) again.push_back(d.agent);
  }
  for (const agent_index a : again) give(e, a);
}

void graph::set_to_nobody(event_index e) {
  events_[e].is_withdrawn = true;
  touch(e);
}

}  // namespace digd::graph
