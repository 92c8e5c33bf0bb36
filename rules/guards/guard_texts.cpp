#include "rules/guards/guard_texts.h"

#include "rules/text.h"

namespace digd {

std::string consequence(const graph::graph& g, const finding& f) {
  const std::string event = f.event == graph::nobody ? "" : "the event " + text::event(g, f.event);
  switch (f.action) {
    case guard_action::inject: return event.empty() ? "" : "So far " + event + " is delivered.";
    case guard_action::give_back: return "So " + event + " was not delivered and is back with you.";
    case guard_action::hold: return "So " + event + " waits until a person decides.";
    case guard_action::cancel:
      return event.empty() ? "So the work is cancelled: stop now."
                           : "So " + event + " was not delivered, and the work is cancelled: stop now.";
    case guard_action::observe: break;
  }
  return "";
}

graph::witness_names guard_witness(const graph::graph& g, const finding& f) {
  graph::witness_names names;
  if (f.event != graph::nobody) {
    names.events.push_back(f.event);
    if (g.event(f.event).source != graph::nobody) names.activations.push_back(g.event(f.event).source);
    names.pending_of.push_back(f.event);
  }
  if (f.activation != graph::nobody) names.activations.push_back(f.activation);
  graph::append_named(names.events, f.events.first(graph::max_witness_nodes));
  return names;
}

}  // namespace digd
