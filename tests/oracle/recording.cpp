// Records an accepted message in the graph, and settles and forgets events after it.
#include "oracle.h"
#include "scan.h"

#include <algorithm>
#include <utility>

namespace oracle {

namespace {

void end_pending(event_record& e, const std::string& agent, delivery_state state) {
  for (delivery& d : e.deliveries_)
    if (d.agent_ == agent && d.state_ == delivery_state::pending) d.state_ = state;
}

bool ever_given(const event_record& e, const std::string& agent) {
  return std::any_of(e.deliveries_.begin(), e.deliveries_.end(), [&](const delivery& d) { return d.agent_ == agent; });
}

}  // namespace

std::vector<blocked_event> evaluator::record(const message& m) {
  switch (m.type_) {
    case message_type::agent_joined: h_.roster_.insert(m.agent_); break;
    case message_type::agent_left: record_left(m); break;
    case message_type::event: {
      std::optional<std::size_t> source;
      if (m.event_.source_) source = find_activation(h_, *m.event_.source_);
      if (source) record_usage(m, *source);
      return record_events({m.event_}, source);
    }
    case message_type::activation_started:
      record_start(m);
      record_usage(m, h_.activations_.size() - 1);
      break;
    case message_type::activation_ended: record_usage(m, *find_activation(h_, m.activation_)); return record_end(m);
    case message_type::usage: record_usage(m, *find_activation(h_, m.activation_)); break;
    case message_type::delivery: record_delivery(m); break;
    case message_type::gap: record_gap(); break;
    case message_type::time: break;
    case message_type::run_ended: h_.ended_ = true; break;
  }
  return {};
}

void evaluator::record_left(const message& m) {
  if (h_.roster_.erase(m.agent_) == 0) return;
  for (event_record& e : h_.events_) end_pending(e, m.agent_, delivery_state::lost);
  for (activation_record& v : h_.activations_)
    if (v.open_ && v.agent_ == m.agent_) v.stalled_ = true;
}

void evaluator::record_start(const message& m) {
  h_.roster_.insert(m.agent_);
  activation_record v;
  v.id_ = m.activation_;
  v.agent_ = m.agent_;
  v.started_ms_ = h_.clock_;
  v.last_sign_ms_ = h_.clock_;
  v.last_word_ms_ = h_.clock_;
  for (const std::string& id : m.inputs_) {
    std::optional<std::size_t> e = find_event(h_, id);
    if (!e) {
      event_record placeholder;
      placeholder.id_ = id;
      placeholder.placeholder_ = true;
      h_.events_.push_back(placeholder);
      e = h_.events_.size() - 1;
    }
    if (!h_.events_[*e].settled_) give(*e, m.agent_);
    v.inputs_.push_back(*e);
  }
  h_.activations_.push_back(v);
}

std::vector<blocked_event> evaluator::record_end(const message& m) {
  const std::size_t index = *find_activation(h_, m.activation_);
  activation_record& v = h_.activations_[index];
  std::vector<blocked_event> blocked;
  if (!m.failed_) {
    for (std::size_t input : v.inputs_) {
      event_record& e = h_.events_[input];
      const auto declared = m.reactions_.find(e.id_);
      const reaction_fields reaction = declared == m.reactions_.end() ? reaction_fields{} : declared->second;
      v.reactions_.push_back(reaction.kind_);
      if (reaction.kind_ == reaction_kind::consume) end_pending(e, v.agent_, delivery_state::consumed);
      else if (reaction.kind_ == reaction_kind::discard) end_pending(e, v.agent_, delivery_state::discarded);
      else if (reaction.kind_ == reaction_kind::reroute) {
        end_pending(e, v.agent_, delivery_state::rerouted);
        blocked.push_back({input, reaction.targets_, false, true, false});
      }
    }
  }
  v.failed_ = m.failed_;
  v.open_ = false;
  fix_repeats(index);
  h_.ended_since_gap_.push_back(index);
  for (blocked_event& b : blocked) {
    name_agents(b.recipients_);
    for (const std::string& agent : b.recipients_) give_in(b, agent);
  }
  if (!m.outputs_.empty())
    for (blocked_event& b : record_events(m.outputs_, index)) blocked.push_back(std::move(b));
  return blocked;
}

// The first output fixes the used inputs: all of them while the activation is open, otherwise those it consumed.
void evaluator::fix_used_inputs(activation_record& v) {
  if (v.used_inputs_) return;
  v.used_inputs_.emplace();
  for (std::size_t i = 0; i < v.inputs_.size(); ++i)
    if (v.open_ || v.reactions_[i] == reaction_kind::consume) v.used_inputs_->push_back(v.inputs_[i]);
}

// Whether another activation had consumed some work that this one uses, or all the work that it uses is repeated.
void evaluator::fix_repeats(std::size_t activation) {
  activation_record& v = h_.activations_[activation];
  if (v.repeats_) return;
  std::vector<std::size_t> used = v.used_inputs_.value_or(std::vector<std::size_t>{});
  for (std::size_t i = 0; i < v.reactions_.size() && !v.used_inputs_; ++i)
    if (v.reactions_[i] == reaction_kind::consume) used.push_back(v.inputs_[i]);
  std::erase_if(used, [&](std::size_t e) { return !is_work(h_.events_[e]); });
  const auto taken_by_another = [&](std::size_t e) {
    for (std::size_t u = 0; u < h_.activations_.size(); ++u)
      if (u != activation && consumed_by(h_.activations_[u], e)) return true;
    return false;
  };
  const bool only_repeated =
      std::all_of(used.begin(), used.end(), [&](std::size_t e) { return h_.events_[e].repeated_; });
  v.repeats_ = std::any_of(used.begin(), used.end(), taken_by_another) || (!used.empty() && only_repeated);
}

// Adds all events of a message before it fixes the generators of the first and before it makes the first delivery.
std::vector<blocked_event> evaluator::record_events(const std::vector<event_fields>& events,
                                                    std::optional<std::size_t> source) {
  std::vector<blocked_event> blocked;
  for (const event_fields& fields : events) {
    std::optional<std::size_t> e = find_event(h_, fields.id_);
    const bool late = e.has_value();
    if (!late) {
      h_.events_.emplace_back();
      e = h_.events_.size() - 1;
    }
    event_record& event = h_.events_[*e];
    event.id_ = fields.id_;
    event.placeholder_ = false;
    event.source_ = source;
    event.kind_ = fields.kind_;
    event.submit_ = fields.submit_;
    event.fyi_ = fields.fyi_;
    event.addressees_ = fields.recipients_;
    event.fingerprint_ = fields.fingerprint_;
    if (source) h_.outputs_.push_back(*e);
    blocked.push_back({*e, fields.recipients_, source.has_value(), false, late});
    if (late && fields.submit_) h_.terminal_ = true;
  }
  if (source) {
    activation_record& v = h_.activations_[*source];
    for (const blocked_event& b : blocked) v.outputs_.push_back(b.event_);
    fix_used_inputs(v);
    fix_repeats(*source);
    v.last_sign_ms_ = h_.clock_;
    v.last_word_ms_ = h_.clock_;
    v.silent_steps_ = 0;
    v.stalled_ = false;
  }
  for (blocked_event& b : blocked) {
    event_record& event = h_.events_[b.event_];
    name_agents(b.recipients_);
    for (const std::string& agent : b.recipients_)
      if (!b.late_ || (!event.settled_ && !ever_given(event, agent))) give_in(b, agent);
    if (b.late_ || !source) continue;
    const activation_record& v = h_.activations_[*source];
    event.derived_from_ = *v.used_inputs_;
    event.repeated_ = *v.repeats_ && is_work(event);
    for (std::size_t parent : event.derived_from_)
      event.generators_.insert(h_.events_[parent].generators_.begin(), h_.events_[parent].generators_.end());
    if (event.generators_.empty() && is_generating(h_, v)) event.generators_.insert(*source);
  }
  return blocked;
}

void evaluator::record_delivery(const message& m) {
  if (!m.applied_as_is_) return;
  const std::optional<std::size_t> reported = event_reported(m);
  if (!reported) return;
  event_record& e = h_.events_[*reported];
  for (std::size_t i = 0; i < h_.holds_.size(); ++i)
    if (h_.holds_[i].open_ && h_.holds_[i].event_ == *reported) released_as_is_.insert(i + 1);
  e.to_nobody_ = false;
  std::set<std::string> again;
  for (delivery& d : e.deliveries_)
    if (std::exchange(d.intercepted_, false)) again.insert(d.agent_);
  for (delivery& d : e.deliveries_)
    if (d.give_back_ && d.state_ == delivery_state::pending) d.state_ = delivery_state::withdrawn;
  if (e.submit_returned_) h_.terminal_ = true;
  if (!e.settled_)
    for (const std::string& agent : again) give(*reported, agent);
}

// What a client reports, and that it has not fallen silent.
void evaluator::record_usage(const message& m, std::size_t activation) {
  if (!m.usage_) return;
  activation_record& v = h_.activations_[activation];
  v.last_word_ms_ = h_.clock_;
  v.silent_steps_ = 0;
  h_.usages_.push_back(*m.usage_);
  h_.usages_.back().agent_ = v.agent_;
}

// Gives the event, and notes whether that made a delivery pending.
void evaluator::give_in(blocked_event& b, const std::string& agent) {
  const bool was_pending = is_pending_for(h_.events_[b.event_], agent);
  give(b.event_, agent);
  if (!was_pending && is_pending_for(h_.events_[b.event_], agent)) b.given_.insert(agent);
}

void evaluator::record_gap() {
  for (event_record& e : h_.events_)
    for (delivery& d : e.deliveries_)
      if (d.state_ == delivery_state::pending) d.state_ = delivery_state::unknown;
  for (activation_record& v : h_.activations_)
    if (v.open_) v.stalled_ = true;
  h_.ended_since_gap_.clear();
}

void evaluator::name_agents(const std::vector<std::string>& agents) {
  if (h_.open_roster_) h_.roster_.insert(agents.begin(), agents.end());
}

void evaluator::give(std::size_t event, const std::string& agent, bool give_back) {
  event_record& e = h_.events_[event];
  for (delivery& d : e.deliveries_) {
    if (d.agent_ == agent) d.intercepted_ = false;  // it has the event again
    if (d.agent_ == agent && d.state_ == delivery_state::pending) {
      d.give_back_ = d.give_back_ || give_back;
      return;
    }
  }
  const auto state = in_roster(h_, agent) ? delivery_state::pending : delivery_state::lost;
  e.deliveries_.push_back({agent, state, give_back});
}

void evaluator::settle_and_forget() {
  for (std::size_t i = 0; i < h_.events_.size(); ++i) {
    event_record& e = h_.events_[i];
    if (e.settled_ || is_pending(e) || e.orphan_.since_ || input_of_open_activation(h_, i)) continue;
    e.settled_ = true;
    h_.settled_order_.push_back(i);
  }
  const std::size_t max_remembered = static_cast<std::size_t>(h_.settings_.settled_events_);
  for (std::size_t i = 0; i + max_remembered < h_.settled_order_.size(); ++i)
    h_.events_[h_.settled_order_[i]].forgotten_ = true;
  for (activation_record& v : h_.activations_) {
    auto remembered = [&](std::size_t e) { return !h_.events_[e].forgotten_; };
    if (!v.open_ && std::none_of(v.inputs_.begin(), v.inputs_.end(), remembered) &&
        std::none_of(v.outputs_.begin(), v.outputs_.end(), remembered))
      v.forgotten_ = true;
  }
}

}  // namespace oracle
