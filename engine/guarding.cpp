// The guards of a run: counting, judging a message, and carrying out the chosen action.
#include <algorithm>
#include <string>
#include <utility>

#include "engine/run.h"
#include "rules/guards/limits_passed.h"

namespace digd {

// ---- counting

graph::activation_index run::named_activation(const message& m) const {
  switch (m.type) {
    case message_type::activation_started:
    case message_type::activation_ended:
    case message_type::usage: return graph_.find_activation(m.activation);
    case message_type::event:
      return m.events.front().source ? graph_.find_activation(*m.events.front().source) : graph::nobody;
    default: return graph::nobody;
  }
}

void run::note_spending(const message& m, graph::activation_index named) {
  if (named == graph::nobody) return;
  const graph::activation_node& v = graph_.activation(named);
  if (m.type == message_type::activation_started) spending_.add_activation(v.agent, clock_);
  if (m.usage) spending_.add(v.agent, *m.usage);
  if (silence_guard_ == nullptr) return;
  if (v.open) {
    silences_.hear(named, clock_);
  } else {
    silences_.forget(named);
  }
}

// No activation counts as silent while the guard is off or judging has stopped.
void run::update_silences() {
  if (silence_guard_ == nullptr) return;
  const bool off = !live() || settings_.effective_mode(silence_guard_->id) == mode::off;
  if (off) {
    silences_.clear();
  } else if (were_silences_off_) {
    silences_.restart(clock_);
  }
  were_silences_off_ = off;
}

// ---- judging

void run::begin_guarding(const message& m) {
  const graph::activation_index named = named_activation(m);
  view_.now = clock_;
  view_.sender = named == graph::nobody ? graph::nobody : graph_.activation(named).agent;
  view_.later_reachable = view_.later_work_outputs = 0;
  for (const held_event& held : held_) {
    const graph::event_node& e = graph_.event(held.blocked.event);
    view_.later_reachable += e.reachable();
    view_.later_work_outputs += held.draft != nullptr && e.is_work();
  }
}

// Moves the view on to a held event.
void run::guard_next(std::size_t next) {
  held_event& held = held_[next];
  held.blocked.guards = &view_;
  const graph::event_node& e = graph_.event(held.blocked.event);
  view_.later_reachable -= e.reachable();
  if (held.draft == nullptr) return;
  view_.later_work_outputs -= e.is_work();
  if (repeats_guard_ == nullptr || view_.sender == graph::nobody) return;
  repeats_.add(view_.sender, repeats::key_of(held.blocked.to, held.draft->fingerprint), e.id, settings_.guards.window);
}

// Adds the guards' findings to `findings_`. False if judging used up the allowed work.
bool run::ask_guards(const held_event& held) {
  const graph::event_node& e = graph_.event(held.blocked.event);
  if (e.submit) return true;
  for (const rule* guard : guards()) {
    if (e.fyi && !guard->traits.judges_fyi) continue;
    if (!guard->is_on(settings_.guards) || settings_.effective_mode(guard->id) == mode::off) continue;
    const std::size_t first = findings_.size();
    guard->judge(graph_, held.blocked, settings_.of(guard->id), known_, findings_);
    for (std::size_t i = first; i < findings_.size(); ++i) findings_[i].rule = guard->id;
    if (graph_.work_is_used_up()) return false;
  }
  return true;
}

// Notes the limits that the finding reports, so that they are reported once.
void run::note_limits(const finding& found) {
  if (rule_of(found.rule).traits.counts != guard_count_kind::spending) return;
  const spent_totals totals = spending_.guarded(found.agent, clock_);
  spending_.note_passed(found.agent, limits_passed(settings_.guards, totals));
  if (found.warning) spending_.note_warned(found.sender, limits_reached(settings_.guards, totals));
}

void run::carry_out_guard(const finding& found, const remedy& decided, held_event& held, verdict& v,
                          std::uint32_t detection, answer& out) {
  add_guard_remedy(decided, found, graph_, held, v);
  if (found.action == guard_action::hold) {
    v.hold = holds_.reserve();
    v.hold_ms = settings_.guards.hold_ms;
    v.on_timeout = settings_.guards.on_timeout;
  }
  if (found.action == guard_action::cancel) cancel(found, decided, detection, out);
}

// A message can name an activation and have no event that the spending guard could judge. It fires that guard if it is
// the first message to find a total above its limit.
void run::judge_spending(const message& m, const speaker& from, answer& out) {
  if (view_.sender == graph::nobody || spending_guard_ == nullptr) return;
  const rule& guard = *spending_guard_;
  if (settings_.effective_mode(guard.id) == mode::off) return;
  const auto is_judged = [this](const held_event& held) {
    const graph::event_node& e = graph_.event(held.blocked.event);
    return held.judged && !e.fyi && !e.submit;
  };
  if (std::any_of(held_.begin(), held_.end(), is_judged)) return;
  const graph::agent_index spender = settings_.guards.per == budget_scope::agent ? view_.sender : graph::nobody;
  const std::uint8_t passed = limits_passed(settings_.guards, spending_.guarded(spender, clock_));
  if ((passed & ~spending_.passed(spender)) == 0) return;
  const blocked_event no_event{.guards = &view_};
  findings_.clear();
  guard.judge(graph_, no_event, settings_.of(guard.id), known_, findings_);
  finding& found = findings_.front();
  found.rule = guard.id;
  note_limits(found);
  healer_.choose_action(found);
  healer_.open_case(m.as_is, from.able);
  const remedy decided = healer_.decide_guard(guard, found, {});
  healer_.close_case();
  const std::uint32_t index = report(found, decided, out);
  out.detections[index].session = std::string(from.session);
  out.detections[index].at = m.seq;
  if (decided.healed()) cancel(found, decided, index, out);
}

// ---- cancelling

void run::cancel(const finding& found, const remedy& decided, std::uint32_t detection, answer& out) {
  const std::vector<graph::activation_index> activations = healer_.to_cancel(found);
  if (activations.empty()) return;
  intervention asks = interventions_.prepare_cancel(graph_, activations, decided);
  asks.detections.push_back(detection);
  if (found.event == graph::nobody) outcomes_.newest().label = asks.id;
  out.interventions.push_back(std::move(asks));
}

// ---- silence

void run::fire_silence(answer& out) {
  const silences::due_silence due = *silences_.next();
  const rule& guard = *silence_guard_;
  witness_visits_left_ = graph::max_message_visits;
  const std::uint64_t silent_ms = (due.step + 1) * static_cast<std::uint64_t>(*settings_.guards.after_ms);
  finding found = guard.find_silence(graph_, due.activation, silent_ms);
  found.rule = guard.id;
  found.action = settings_.guards.action_of(guard.id, due.step);
  healer_.open_case(false, window_able_);
  const remedy decided = healer_.decide_guard(guard, found, {});
  healer_.close_case();
  outcomes_.next_occasion();
  const std::uint32_t index = report(found, decided, out);
  if (decided.healed()) cancel(found, decided, index, out);
  silences_.advance(settings_.guards.actions_of(guard.id).size());
}

}  // namespace digd
