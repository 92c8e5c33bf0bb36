#include "engine/run.h"

#include <algorithm>
#include <memory>
#include <utility>

namespace digd {

namespace {

graph::graph_limits graph_limits_of(const limits& l) {
  return {.settled_events = l.settled_events, .generators = l.generators};
}

bool reports_at_end(run_outcome outcome) { return outcome == run_outcome::none || outcome == run_outcome::failure; }

const rule& rule_of_window(due_kind kind) {
  switch (kind) {
    case due_kind::deadlock: return rule_of(rule_id::deadlock);
    case due_kind::missing_termination: return rule_of(rule_id::missing_termination);
    default: return rule_of(rule_id::orphaned_event);
  }
}

// Sorts agents by name, as far as they are reported; beyond that the order does not matter.
void sort_reported(std::vector<graph::agent_index>& agents, const graph::graph& g) {
  const auto cut = agents.begin() + static_cast<std::ptrdiff_t>(std::min(agents.size(), detection::max_evidence));
  std::partial_sort(agents.begin(), cut, agents.end(),
                    [&](graph::agent_index a, graph::agent_index b) { return g.agent(a).name < g.agent(b).name; });
  g.look_at(agents.size());
}

// Lists the first names that are within both limits of a detection's evidence.
template <class List, class Name>
void list_evidence(detection& d, const List& items, Name name) {
  std::size_t bytes = 0;
  for (const std::uint32_t i : items) {
    bytes += name(i).size();
    if (d.evidence.size() == detection::max_evidence || bytes > detection::max_evidence_bytes) return;
    d.evidence.push_back(name(i));
  }
}

}  // namespace

run::run(const run_settings& settings, const hello& first)
    : settings_(settings),
      graph_(graph_limits_of(settings.limits)),
      windows_(graph_, settings_),
      healer_(graph_, settings_) {
  if (first.agents) graph_.close_roster();
}

void run::join(const hello& session) {
  if (!session.agents) return;
  for (const std::string& name : *session.agents) graph_.join(graph_.intern(name));
}

// The path of one message: check, what is due by then, record, judge, heal, and what follows from it.
void run::apply(const message& m, const speaker& who, milliseconds stamp, answer& out) {
  out.clear();
  const milliseconds time = time_of(m, stamp);
  if (unjudged_) return pass(m, time, out);
  if (settings_.clock == clock_kind::wall || settings_.stamped) let_due_happen(time, out);
  out.refused = check(m);
  if (out.refused) return;
  let_due_happen(time, out);
  clock_ = time;
  record(m);
  judge(m, who, out);
  apply_verdicts(out);
  if (ended_ && reports_at_end(m.outcome)) report_at_end(out);
  windows_.update(clock_, live());
  graph_.settle();
  watches_.update(graph_, progress_, clock_, out);
  graph_.forget();
  if (ended_) watches_.end(clock_, out);
}

void run::advance(milliseconds now, answer& out) {
  out.clear();
  let_due_happen(std::max(now, clock_), out);
}

void run::switch_mode(mode strongest, milliseconds stamp, answer& out) {
  out.clear();
  const milliseconds now = time_of_daemon(stamp);
  let_due_happen(now, out);
  clock_ = now;
  settings_.operator_mode = strongest;
  windows_.update(clock_, live());
}

// ---- a limit is hit

bool run::can_degrade(limit_id hit, limit_policy policy) const {
  if (unjudged_ || ended_ || policy == limit_policy::refuse) return false;
  return policy == limit_policy::observe || hit != limit_id::live_events || graph_.has_pending();
}

void run::degrade(limit_id hit, limit_policy policy, milliseconds stamp, answer& out) {
  if (!can_degrade(hit, policy)) return;
  const milliseconds now = time_of_daemon(stamp);
  let_due_happen(now, out);
  clock_ = now;
  if (policy == limit_policy::observe) return stop_judging(hit, out);
  forget_pending(out);
}

void run::adopt_semantics(milliseconds stamp, answer& out) {
  out.clear();
  if (unjudged_ || ended_) return;
  const milliseconds now = time_of_daemon(stamp);
  let_due_happen(now, out);
  clock_ = now;
  forget_pending(out);
}

void run::forget_pending(answer& out) {
  graph_.gap();
  windows_.update(clock_, live());
  graph_.settle();
  watches_.update(graph_, progress_, clock_, out);
  graph_.forget();
}

// What was known goes, so that its memory is free; healings that nobody can follow any more are reported unresolved.
void run::stop_judging(limit_id why, answer& out) {
  watches_.end(clock_, out);
  unjudged_ = why;
  const auto remake = []<class What, class... With>(What& object, With&&... with) {
    std::destroy_at(&object);
    std::construct_at(&object, std::forward<With>(with)...);
  };
  remake(windows_, graph_, settings_);  // it names events of the graph: before that goes
  remake(graph_, graph_limits_of(settings_.limits));
  held_ = {};
  rerouted_ = {};
  found_ = {};
}

// Not judged: whatever it is counts as delivered as it is. Nothing of it is remembered but that the run ended.
void run::pass(const message& m, milliseconds time, answer& out) {
  if (ended_) {
    out.refused.consider(refusal::run_closed, "", std::string(run_closed_words));
    return;
  }
  clock_ = time;
  for (const reaction_draft& r : m.reactions) {
    if (r.reaction == reaction::reroute) out.verdicts.emplace_back().event = r.input;
  }
  for (const event_draft& e : m.events) out.verdicts.emplace_back().event = e.id;
  ended_ = m.type == message_type::run_ended;
}

std::optional<milliseconds> run::next_due() const {
  const std::optional<due_item> next = windows_.next();
  return next && !ended_ ? std::optional(next->at) : std::nullopt;
}

milliseconds run::time_of(const message& m, milliseconds stamp) const {
  const milliseconds reported_ms = settings_.clock == clock_kind::wall ? stamp : m.ts.value_or(clock_);
  return std::max(reported_ms, clock_);
}

// Of what the daemon does by itself: with the trace clock, the run's own.
milliseconds run::time_of_daemon(milliseconds stamp) const {
  return settings_.clock == clock_kind::wall || settings_.stamped ? std::max(stamp, clock_) : clock_;
}

// ---- what time brings

void run::let_due_happen(milliseconds now, answer& out) {
  while (!ended_) {
    const std::optional<due_item> next = windows_.next();
    if (!next || next->at > now) return;
    happen(*next, out);
  }
}

void run::happen(const due_item& due, answer& out) {
  clock_ = std::max(clock_, due.at);
  if (due.kind == due_kind::stall) {
    graph_.stall(due.index);
  } else {
    fire(rule_of_window(due.kind), due, out);
  }
  windows_.update(clock_, live());
}

// A run that comes to rest without an answer is reported even if nobody waits for the windows. In a terminal run none
// is running.
void run::report_at_end(answer& out) {
  watches_.next_occasion();
  witness_visits_left_ = graph::max_message_visits;
  for (const due_item& due : windows_.unfired()) {
    const rule& which = rule_of_window(due.kind);
    finding finding = find_due(which, due);
    report(which, finding, healer_.decide_at_end(which, finding), out);
  }
}

finding run::find_due(const rule& which, const due_item& due) const {
  finding finding = which.fire(graph_, due.index);
  sort_reported(finding.agents, graph_);
  return finding;
}

void run::fire(const rule& which, const due_item& due, answer& out) {
  witness_visits_left_ = graph::max_message_visits;
  finding finding = find_due(which, due);
  healer_.open_case(false, window_able_);
  const remedy with = healer_.decide(which, finding);
  healer_.close_case();
  watches_.next_occasion();
  intervention done;
  if (with.healed() && which.healing == action::reroute) {
    done.id =
        "give:" + graph_.event(finding.event).id + ':' + std::to_string(graph_.count_window_give_back(finding.event));
    done.event = graph_.event(finding.event).id;
  } else if (with.healed()) {
    done.id = "sys:" + std::to_string(++system_events_);
  }
  const std::uint32_t at = report(which, finding, with, out);
  if (with.healed()) {
    watched& w = watches_.newest();
    if (!w.has_event) w.label = done.id;
    done.action = which.healing;
    done.inject = with.text;
    done.detections.push_back(at);
    for (const graph::agent_index a : with.targets) done.recipients.push_back(graph_.agent(a).name);
    std::sort(done.recipients.begin(), done.recipients.end());
    if (which.healing == action::reroute) {
      graph_.give_back(finding.event, with.targets.front());
    } else {
      graph_.record_system_event(done.id, with.targets);
    }
    out.interventions.push_back(std::move(done));
  }
  windows_.fired(due, with.healed());
}

// ---- recording

void run::record(const message& m) {
  held_.clear();
  switch (m.type) {
    case message_type::agent_joined: graph_.join(graph_.intern(m.agent)); break;
    case message_type::agent_left:
      if (const auto a = graph_.find_agent(m.agent); a != graph::nobody) graph_.leave(a);
      break;
    case message_type::event: {
      const std::optional<std::string_view>& source = m.events.front().source;
      record_outputs(m, source ? graph_.find_activation(*source) : graph::nobody);
      break;
    }
    case message_type::activation_started: graph_.start(m.activation, m.agent, m.inputs, clock_); break;
    case message_type::activation_ended: record_end(m); break;
    case message_type::delivery: record_delivery_report(m); break;
    case message_type::gap: graph_.gap(); break;
    case message_type::time: break;
    case message_type::run_ended: ended_ = true; break;
  }
}

void run::record_end(const message& m) {
  const graph::activation_index v = graph_.find_activation(m.activation);
  rerouted_.clear();
  graph_.end(v, m, rerouted_);
  for (const auto& [e, draft] : rerouted_) {
    held_event& held = held_.emplace_back();
    held.blocked.event = e;
    held.blocked.rerouted = true;
    graph_.reroute(e, draft->targets, held.blocked.to);
  }
  record_outputs(m, v);
  graph_.count_consumer(v);
}

void run::record_outputs(const message& m, graph::activation_index source) {
  std::vector<graph::event_index> outputs;
  for (const event_draft& draft : m.events) {
    held_event& held = held_.emplace_back();
    const graph::event_index e = graph_.record(draft, source, clock_, held.blocked.to);
    held.blocked.event = e;
    held.judged = !graph_.event(e).late;
    outputs.push_back(e);
    if (!held.judged && draft.submit) let_through(true);
  }
  if (source != graph::nobody) graph_.fix_generators(source, outputs);
}

void run::record_delivery_report(const message& m) {
  if (m.applied != applied::as_is) return;
  const graph::event_index e = graph_.find_event(reported_event(m));
  graph_.undo_give_back(e);
  if (graph_.event(e).gave_up_submit) let_through(false);
}

void run::let_through(bool clean) {
  if (terminal_) return;
  terminal_ = true;
  progress_ = {.submitted = true, .clean = clean};
}

// ---- judging

void run::judge(const message& m, const speaker& who, answer& out) {
  watches_.next_occasion();
  known_.clear();
  witness_visits_left_ = graph::max_message_visits;
  graph_.begin_work(settings_.limits.judging_work);
  out.verdicts.resize(held_.size());
  for (std::size_t i = 0; i < held_.size(); ++i) {
    verdict& v = out.verdicts[i];
    v.event = graph_.event(held_[i].blocked.event).id;
    if (held_[i].judged && live()) judge_event(held_[i], v, m, who, out);
  }
}

// An event whose rules were not all asked before the work was used up is unjudged, like those after it.
void run::judge_event(held_event& held, verdict& v, const message& m, const speaker& who, answer& out) {
  if (graph_.event(held.blocked.event).fyi) return;
  if (graph_.work_is_used_up() || !find(held)) {
    held.skipped = true;
    out.unjudged.push_back(v.event);
    return;
  }
  healer_.open_case(m.as_is, who.able);
  for (finding& finding : found_) {
    const rule& which = rule_of(finding.rule);
    sort_reported(finding.agents, graph_);
    const remedy with = healer_.decide(which, finding);
    const std::uint32_t at = report(which, finding, with, out);
    out.detections[at].session = std::string(who.session);
    out.detections[at].at = m.seq;
    v.detections.push_back(at);
    if (with.healed()) held.take(with, which.healing, v, graph_);
  }
  healer_.close_case();
}

// Asks all rules about an event. False if the work was used up meanwhile.
bool run::find(const held_event& held) {
  found_.clear();
  for (const rule* which : catalog()) {
    if (settings_.effective_mode(which->id) == mode::off) continue;
    const std::size_t first = found_.size();
    which->judge(graph_, held.blocked, settings_.of(which->id), known_, found_);
    for (std::size_t i = first; i < found_.size(); ++i) found_[i].rule = which->id;
    if (graph_.work_is_used_up()) return false;
  }
  return true;
}

void run::held_event::take(const remedy& with, action given_action, verdict& v, const graph::graph& g) {
  if (given_action == action::reroute) {
    back_to = with.targets.front();
    v.action = action::reroute;
    v.recipients = {g.agent(back_to).name};
  } else if (v.action == action::deliver) {
    v.action = action::inject;
  }
  if (with.text.empty()) return;
  if (!v.inject.empty()) v.inject += "\n\n";
  v.inject += with.text;
}

std::uint32_t run::report(const rule& which, finding& finding, const remedy& with, answer& out) {
  const auto at = static_cast<std::uint32_t>(out.detections.size());
  detection& d = out.detections.emplace_back();
  d.rule = which.id;
  d.severity = which.severity;
  d.ts = clock_;
  if (finding.event != graph::nobody) d.event = graph_.event(finding.event).id;
  if (finding.agent != graph::nobody) d.agent = graph_.agent(finding.agent).name;
  d.evidence_total = finding.events.size() + finding.agents.size();
  std::vector<graph::event_ref> refs;
  for (const graph::event_index e : finding.events.first(detection::max_evidence)) refs.push_back(graph_.ref(e));
  list_evidence(d, finding.events.first(detection::max_evidence),
                [this](auto e) -> const std::string& { return graph_.event(e).id; });
  list_evidence(d, finding.agents, [this](auto a) -> const std::string& { return graph_.agent(a).name; });
  d.healed = with.healed();
  d.healing = with.healing;
  d.cause = with.cause;
  d.reason = which.reason(graph_, finding);
  d.witness = graph::make_witness(graph_, which.witness(graph_, finding), witness_visits_left_);
  const bool has_event = finding.event != graph::nobody;
  watched found{.rule = which.id,
                .event = has_event ? graph_.ref(finding.event) : graph::event_ref{},
                .has_event = has_event,
                .agent = finding.agent,
                .evidence = std::move(refs),
                .detected_ts = clock_,
                .label = d.event.value_or("")};
  watches_.fired_again(found, clock_, out);
  if (with.healed()) watches_.add(std::move(found), clock_, out);
  return at;
}

// ---- the verdicts take effect, in the order judged

void run::apply_verdicts(const answer& out) {
  const bool was_live = live();
  for (std::size_t i = 0; i < held_.size(); ++i) {
    const held_event& held = held_[i];
    const graph::event_index e = held.blocked.event;
    if (!held.judged || !was_live) continue;
    const bool submit = graph_.event(e).submit;
    if (held.back_to != graph::nobody) {
      if (submit) graph_.give_up_submit(e);
      graph_.give_back(e, held.back_to);
    } else if (submit) {
      let_through(!held.skipped && out.verdicts[i].detections.empty());
    }
    const bool orphan_told =
        std::any_of(out.verdicts[i].detections.begin(), out.verdicts[i].detections.end(), [&](std::uint32_t d) {
          return out.detections[d].rule == rule_id::orphaned_event && !out.detections[d].healed;
        });
    if (orphan_told) windows_.reported_orphan(e);
  }
}

}  // namespace digd
