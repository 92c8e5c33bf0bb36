// How the events of a message are judged, and how their verdicts take effect.
#include <algorithm>
#include <string>
#include <utility>

#include "engine/run.h"
#include "rules/describe.h"

namespace digd {

namespace {

// The full detections of one answer. Later detections are brief: at most four ids of evidence, and no witness.
constexpr std::size_t max_full_detections = 1024;

}  // namespace

void run::judge(const message& m, const speaker& from, answer& out) {
  outcomes_.next_occasion();
  witness_visits_left_ = graph::max_message_visits;
  graph_.begin_work(settings_.limits.judging_work);
  out.verdicts.resize(held_.size());
  if (guards_on_) begin_guarding(m);
  for (std::size_t i = 0; i < held_.size(); ++i) {
    verdict& v = out.verdicts[i];
    v.event = graph_.event(held_[i].blocked.event).id;
    if (guards_on_) guard_next(i);
    if (held_[i].judged && live()) judge_event(held_[i], v, m, from, out);
  }
  if (guards_on_ && live()) judge_spending(m, from, out);
  known_.clear();
  findings_.clear();
}

// If the work is used up before every rule has judged the event, this event and those after it are unjudged.
void run::judge_event(held_event& held, verdict& v, const message& m, const speaker& from, answer& out) {
  const bool fyi = graph_.event(held.blocked.event).fyi;
  if (fyi && !judges_fyi_) return;
  findings_.clear();
  if (graph_.work_is_used_up() || (!fyi && !ask_rules(held.blocked)) || (guards_on_ && !ask_guards(held))) {
    held.skipped = true;
    out.unjudged.push_back(v.event);
    return;
  }
  healer_.open_case(m.as_is, from.able);
  for (finding& found : findings_) {
    const rule& rule = rule_of(found.rule);
    sort_agents(found, graph_);
    if (is_guard(found.rule)) {
      note_limits(found);
      healer_.choose_action(found);
    }
    const guard_case about{.is_placed = held.is_placed(), .has_deliveries = !held.given.empty()};
    const remedy decided =
        is_guard(found.rule) ? healer_.decide_guard(rule, found, about) : healer_.decide(rule, found);
    const std::uint32_t index = report(found, decided, out);
    out.detections[index].session = std::string(from.session);
    out.detections[index].at = m.seq;
    v.detections.push_back(index);
    if (!decided.healed()) continue;
    if (is_guard(found.rule)) {
      carry_out_guard(found, decided, held, v, index, out);
    } else {
      add_remedy(decided, rule.healing, graph_, held, v);
    }
  }
  healer_.close_case();
}

// Adds the findings of all rules to `findings_`. False if judging used up the allowed work.
bool run::ask_rules(const blocked_event& blocked) {
  for (const rule* rule : failure_rules()) {
    if (settings_.effective_mode(rule->id) == mode::off) continue;
    const std::size_t first = findings_.size();
    rule->judge(graph_, blocked, settings_.of(rule->id), known_, findings_);
    for (std::size_t i = first; i < findings_.size(); ++i) findings_[i].rule = rule->id;
    if (graph_.work_is_used_up()) return false;
  }
  return true;
}

// Adds a detection to the answer and begins to watch its symptom if it was healed. Returns the detection's index.
std::uint32_t run::report(const finding& found, const remedy& decided, answer& out) {
  const auto index = static_cast<std::uint32_t>(out.detections.size());
  detection& d = out.detections.emplace_back(
      describe(graph_, rule_of(found.rule), found, witness_visits_left_, index >= max_full_detections));
  d.ts = clock_;
  d.healed = decided.healed();
  d.healing = decided.healing;
  d.cause = decided.cause;
  const bool has_event = found.event != graph::nobody;
  watched symptom{
      .rule = found.rule,
      .event = has_event ? graph_.ref(found.event) : graph::event_ref{},
      .has_event = has_event,
      .agent = found.agent,
      .evidence = evidence_refs(graph_, found),
      .detected_ts = clock_,
      .activation = found.activation,
      .activation_ordinal = found.activation == graph::nobody ? 0 : graph_.activation(found.activation).ordinal,
      .label = d.event.value_or("")};
  outcomes_.found_again(symptom, clock_, out);
  ++detections_;
  healed_ += decided.healed();
  if (decided.healed()) outcomes_.add(std::move(symptom), clock_, out);
  return index;
}

// The verdicts take effect, in the order judged.
void run::carry_out_verdicts(const answer& out, const speaker& from) {
  const bool was_live = live();
  for (std::size_t i = 0; i < held_.size(); ++i) {
    const held_event& held = held_[i];
    if (!held.judged || !was_live) continue;
    const graph::event_index e = held.blocked.event;
    const bool delivered = held.back_to == graph::nobody;
    if (delivered && graph_.event(e).submit) let_through(!held.skipped && out.verdicts[i].detections.empty());
    carry_out_verdict(held, graph_);
    if (held.placed == guard_action::hold) open_hold_on(held, out.verdicts[i], out, from.index);
    const auto is_reported = [&](std::uint32_t d) {
      return rule_of(out.detections[d].rule).traits.window == scope::event && !out.detections[d].healed;
    };
    const std::vector<std::uint32_t>& detections = out.verdicts[i].detections;
    if (std::any_of(detections.begin(), detections.end(), is_reported)) windows_.mark_reported(e);
  }
}

}  // namespace digd
