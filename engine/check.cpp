// Checks a well-formed message against the run, before anything changes.
#include <boost/unordered/unordered_flat_set.hpp>

#include "base/quote.h"
#include "engine/run.h"

namespace digd {

namespace {

bool is_reserved(std::string_view id) { return id.starts_with("sys:"); }

std::string over(std::string_view items, std::uint64_t limit) {
  return "more than " + std::to_string(limit) + ' ' + std::string(items) + " (a limit of this run)";
}

class checker {
 public:
  checker(const graph::graph& g, const limits& l) : graph_(g), limits_(l) {}

  refusal_note check(const message& m) {
    has_several_events_ = m.events.size() > 1;
    switch (m.type) {
      case message_type::agent_joined: name(m.agent); break;
      case message_type::agent_left: break;
      case message_type::event: announced(m); break;
      case message_type::activation_started: started(m); break;
      case message_type::activation_ended: ended(m); break;
      case message_type::delivery: break;  // run::check
      case message_type::usage: known_activation(m.activation, "activation"); break;
      case message_type::gap:
      case message_type::time:
      case message_type::run_ended: break;
    }
    // Only a message with new names can hit this limit: a recorded hello may have named more agents than the limit,
    // which daemon/runs would refuse.
    if (!new_names_.empty() && graph_.agent_count() + new_names_.size() > limits_.agents)
      hit(limit_id::agents, "agent", over("agents", limits_.agents));
    if (added_ > 0 && graph_.live_events() + added_ > limits_.live_events) {
      hit(limit_id::live_events, "event", over("events that are not settled", limits_.live_events));
    }
    return note_;
  }

  refusal_note note_;

  void refuse(refusal code, std::string_view field, std::string text) { note_.consider(code, field, std::move(text)); }
  void hit(limit_id which, std::string_view field, std::string text) {
    note_.consider(refusal::over_limit, field, std::move(text), which);
  }

 private:
  void name(std::string_view agent) {
    if (graph_.find_agent(agent) == graph::nobody) new_names_.insert(agent);
  }

  void names(const name_list& agents, std::string_view field) {
    if (agents.size() > limits_.recipients)
      hit(limit_id::recipients, field, over("recipients of one event", limits_.recipients));
    for (const std::string_view agent : agents) name(agent);
  }

  graph::activation_index known_activation(std::string_view id, std::string_view field) {
    const graph::activation_index v = graph_.find_activation(id);
    if (v == graph::nobody)
      refuse(refusal::unknown_activation, field, "no activation " + quoted_briefly(id) + " is known in this run");
    return v;
  }

  // The activation that the message names. Refuses the message unless the activation is open.
  graph::activation_index open_activation(std::string_view id, std::string_view field) {
    const graph::activation_index v = known_activation(id, field);
    if (v != graph::nobody && !graph_.activation(v).open) {
      refuse(refusal::activation_closed, field, "activation " + quoted_briefly(id) + " has ended");
    }
    return v;
  }

  void draft(const event_draft& e) {
    names(e.recipients, "recipients");
    const graph::event_index known = graph_.find_event(e.id);
    if (known != graph::nobody && !graph_.event(known).placeholder) {
      refuse(refusal::duplicate_event, "id", "event " + quoted_briefly(e.id) + " is known already");
    }
    if (has_several_events_ && !drafts_.insert(e.id).second) {
      refuse(refusal::duplicate_event, "id", "event " + quoted_briefly(e.id) + " occurs twice in this message");
    } else if (known == graph::nobody) {
      ++added_;
    }
    if (is_reserved(e.id)) refuse(refusal::reserved_id, "id", "ids that begin with sys: are the monitor's own");
  }

  void announced(const message& m) {
    const event_draft& e = m.events.front();
    draft(e);
    if (e.source) {
      open_activation(*e.source, "source");
    } else if (e.submit) {
      refuse(refusal::submit_without_source, "submit", "a submit event must name its source activation");
    }
  }

  void started(const message& m) {
    name(m.agent);
    if (m.inputs.size() > limits_.inputs)
      hit(limit_id::inputs, "inputs", over("inputs of one activation", limits_.inputs));
    if (graph_.open_count() >= limits_.open_activations) {
      hit(limit_id::open_activations, "activation", over("open activations", limits_.open_activations));
    }
    if (graph_.find_activation(m.activation) != graph::nobody) {
      refuse(refusal::duplicate_activation, "activation",
             "activation " + quoted_briefly(m.activation) + " is known already");
    }
    if (is_reserved(m.activation)) {
      refuse(refusal::reserved_id, "activation", "ids that begin with sys: are the monitor's own");
    }
    for (const std::string_view input : m.inputs) {
      if (graph_.find_event(input) != graph::nobody) continue;
      if (is_reserved(input))
        refuse(refusal::reserved_id, "inputs", "the monitor created no event " + quoted_briefly(input));
      ++added_;
    }
  }

  void ended(const message& m) {
    const graph::activation_index v = open_activation(m.activation, "activation");
    for (const event_draft& e : m.events) draft(e);
    for (const reaction_draft& r : m.reactions) names(r.targets, "reactions");
    if (m.failed && !(m.events.empty() && m.reactions.empty())) {
      refuse(refusal::failed_with_outputs, m.events.empty() ? "reactions" : "outputs",
             "a failed activation has no reactions and no outputs in its end");
    }
    if (v != graph::nobody) reactions(m, graph_.activation(v));
  }

  void reactions(const message& m, const graph::activation_node& v) {
    if (m.reactions.empty()) return;
    boost::unordered_flat_set<std::string_view> inputs, settled;
    for (const graph::activation_input& input : v.inputs) {
      const graph::event_node* e = graph_.resolve(input.event);
      if (e == nullptr) continue;
      inputs.insert(e->id);
      if (e->settled) settled.insert(e->id);
    }
    for (const reaction_draft& r : m.reactions) {
      if (!inputs.contains(r.input)) {
        refuse(refusal::not_an_input, "reactions",
               "event " + quoted_briefly(r.input) + " is not an input of activation " + quoted_briefly(v.id));
      } else if (r.reaction == reaction::reroute && settled.contains(r.input)) {
        refuse(refusal::settled_event, "reactions",
               "event " + quoted_briefly(r.input) + " is settled and cannot be rerouted");
      }
    }
  }

  const graph::graph& graph_;
  const limits& limits_;
  boost::unordered_flat_set<std::string_view> new_names_;
  bool has_several_events_ = false;
  boost::unordered_flat_set<std::string_view> drafts_;  // ids of the message, if it has several
  std::size_t added_ = 0;                               // events that the message adds, including placeholders
};

}  // namespace

std::string_view reported_event(const message& m) {
  if (m.event) return *m.event;
  std::string_view id = *m.of;
  if (!id.starts_with("give:")) return id;
  id.remove_prefix(5);
  return id.substr(0, id.rfind(':'));
}

refusal_note run::check(const message& m) const {
  checker c(graph_, settings_.limits);
  if (ended_) c.refuse(refusal::run_closed, "", std::string(run_closed_words));
  if (m.type == message_type::delivery && reported(m) == graph::nobody && !answers_guard(m)) {
    c.refuse(refusal::unknown_event, m.event ? "event" : "of",
             "no event " + quoted_briefly(reported_event(m)) + " is known in this run");
  }
  return c.check(m);
}

// Whether the report answers the end of a hold, or a cancel.
bool run::answers_guard(const message& m) const {
  if (m.event) return false;
  if (const auto number = number_in(*m.of, "hold:")) return holds_.was_opened(*number);
  const auto number = number_in(*m.of, "cancel:");
  return number && *number >= 1 && *number <= interventions_.cancels();
}

graph::event_index run::reported(const message& m) const {
  if (!m.event) {
    if (const auto number = number_in(*m.of, "hold:"); number && holds_.was_opened(*number)) {
      if (const open_hold* hold = holds_.find(*number)) return hold->event;
      return graph_.find_event(holds_.event_of(*number));
    }
  }
  return graph_.find_event(reported_event(m));
}

bool run::is_unseen(const named_id& id) const {
  if (unjudged_) return false;
  return (id.is_event ? graph_.find_event(id.id) : graph_.find_activation(id.id)) == graph::nobody;
}

std::optional<run::named_id> run::first_unseen(const message& m) const {
  const auto if_unseen = [this](std::string_view id, bool is_event) -> std::optional<named_id> {
    const named_id named{id, is_event};
    return is_unseen(named) ? std::optional(named) : std::nullopt;
  };
  switch (m.type) {
    case message_type::event:
      return m.events.front().source ? if_unseen(*m.events.front().source, false) : std::nullopt;
    case message_type::activation_started:
      for (const auto& input : m.inputs) {
        if (const auto unseen = if_unseen(input, true)) return unseen;
      }
      return std::nullopt;
    case message_type::activation_ended:
    case message_type::usage: return if_unseen(m.activation, false);
    case message_type::delivery: return m.event ? if_unseen(*m.event, true) : std::nullopt;
    default: return std::nullopt;
  }
}

}  // namespace digd
