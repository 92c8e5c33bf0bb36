#include "rules/guards/guard_texts.h"

#include "rules/text.h"

namespace digd {

std::string consequence(const graph::graph& g, const finding& f) {
  if (f.event == graph::nobody) return f.action == guard_action::cancel ? "So the work is cancelled: stop now." : "";
  const std::string event = "So the event " + text::event(g, f.event);
  switch (f.action) {
    case guard_action::give_back:
      if (f.to_nobody) return event + " is not delivered.";
      return event + (g.event(f.event).fyi ? " was not delivered." : " was not delivered and is back with you.");
    case guard_action::hold: return event + " waits for a person to decide.";
    case guard_action::cancel:
      return event + (f.to_nobody ? " is not delivered." : " is not delivered, and the work is cancelled: stop now.");
    case guard_action::inject:  // another guard or rule may yet decide where the event goes
    case guard_action::observe: break;
  }
  return "";
}

std::string advice_unless_cancelled(const finding& f, std::string_view advice) {
  return f.action == guard_action::cancel ? std::string() : std::string(advice);
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
