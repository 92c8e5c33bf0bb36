#include "analysis/shapley/structure_replay.h"

#include <algorithm>
#include <deque>
#include <string>
#include <unordered_set>

#include "engine/run.h"

namespace digd::shapley {

namespace {

class partial_replay {
 public:
  partial_replay(const recorded_run& recorded, const recorded_facts& facts, const risk_weights& weights,
                 std::span<const std::uint8_t> kept)
      : rec_(recorded),
        facts_(facts),
        weights_(weights),
        kept_(kept),
        run_(rec_.settings, rec_.hellos.front()),
        announced_(rec_.events.size(), 0),
        happens_(rec_.activations.size(), 0),
        open_(rec_.activations.size(), 0),
        withholds_(rec_.activations.size(), 0),
        able_(rec_.sessions.size(), capabilities::none()) {}

  double risk() {
    for (std::size_t i = 0; i < rec_.steps.size(); ++i) {
      take(rec_.steps[i]);
      if (i == facts_.last_activity) end_activity(rec_.steps[i]);
    }
    run_.advance(rec_.last_ts, answer_);
    count(true);
    return risk_ + weights_.unresolved * static_cast<double>(unresolved());
  }

 private:
  // `own`: false for a message of a counterpart. Detections on it do not count, because the counterpart would not have
  // sent that event; detections of windows do.
  void count(bool own) {
    for (const detection& d : answer_.detections) {
      if (d.at && !own) continue;
      risk_ += d.severity == severity::failure ? weights_.failure : weights_.warning;
    }
  }

  bool apply(const message& m, const recorded_step& s, bool own = true) {
    run_.apply(m, {rec_.sessions[s.session], able_[s.session]}, s.ts, answer_);
    count(own);  // windows that fired by then count even if the message is refused
    if (answer_.refused) return false;
    for (const event_draft& e : m.events) {
      if (e.submit) answers_.push_back(e.id);
    }
    return true;
  }

  // Reachable work that no submitted answer builds on.
  std::size_t unresolved() const {
    const graph::graph& g = run_.graph();
    std::unordered_set<graph::event_index> resolved;
    for (const std::string_view id : answers_) {
      const graph::event_index e = g.find_event(id);
      if (e == graph::nobody || !g.event(e).submit) continue;
      add_ancestors(e, resolved);
    }
    return g.reachable().size() - resolved.size();
  }

  // Adds the reachable work that `e` derives from.
  void add_ancestors(graph::event_index e, std::unordered_set<graph::event_index>& to) const {
    const graph::graph& g = run_.graph();
    g.mark_ancestors(e);
    for (const graph::event_index x : g.reachable()) {
      if (x == e || g.is_marked(x)) to.insert(x);
    }
  }

  void take(const recorded_step& s) {
    switch (s.kind) {
      case recorded_step::step_kind::hello: return greet(s);
      case recorded_step::step_kind::passing_time: run_.advance(s.ts, answer_); return count(true);
      case recorded_step::step_kind::operator_mode: run_.switch_mode(s.strongest, s.ts, answer_); return count(true);
      case recorded_step::step_kind::message: break;
    }
    switch (s.message.type) {
      case message_type::activation_started: return start(s);
      case message_type::activation_ended: return kept_[s.activation] ? end(s) : end_of_counterpart(s);
      case message_type::event: return announce(s);
      default: apply(s.message, s);
    }
  }

  void greet(const recorded_step& s) {
    const hello& h = rec_.hellos[s.hello];
    run_.join(h);
    able_[s.session] = h.able;
    capabilities any = capabilities::none();
    for (const capabilities& able : able_) any.add(able);
    run_.set_able(any);
  }

  bool exists(const recorded_input& i) const {
    return i.unannounced || announced_[i.event] || (i.system && run_.graph().find_event(i.id) != graph::nobody);
  }

  void start(const recorded_step& s) {
    scratch_ = s.message;
    scratch_.inputs.clear();
    for (const recorded_input& i : s.inputs) {
      if (exists(i)) scratch_.inputs.push_back(i.id);
    }
    if (scratch_.inputs.empty() && !s.inputs.empty()) return;
    happens_[s.activation] = open_[s.activation] = apply(scratch_, s);
  }

  void announce(const recorded_step& s) {
    const std::uint32_t a = s.activation;
    if (a != recorded_run::none && !happens_[a]) return;
    const bool own = a == recorded_run::none || kept_[a];
    scratch_ = s.message;
    if (!own) {
      scratch_.as_is = true;
      if (scratch_.events.front().submit && is_premature(a)) {
        withholds_[a] = 1;
        return;
      }
    }
    if (apply(scratch_, s, own)) announced_[s.outputs.front()] = 1;
  }

  void end(const recorded_step& s) {
    if (!happens_[s.activation]) return;
    scratch_ = s.message;
    std::erase_if(scratch_.reactions, [&](const reaction_draft& r) {
      const auto at =
          std::find_if(s.inputs.begin(), s.inputs.end(), [&](const recorded_input& i) { return i.id == r.input; });
      return at == s.inputs.end() || !exists(*at);
    });
    open_[s.activation] = 0;
    if (apply(scratch_, s)) return mark_announced(s, scratch_);
    end_without_outputs(s);
  }

  void mark_announced(const recorded_step& s, const message& m) {
    for (std::size_t k = 0; k < s.outputs.size(); ++k) {
      const std::string_view id = s.message.events[k].id;
      const bool sent = std::any_of(m.events.begin(), m.events.end(), [&](const event_draft& e) { return e.id == id; });
      if (sent) announced_[s.outputs[k]] = 1;
    }
  }

  // Reacts as the counterpart does. The reroutes keep their recorded targets.
  void react_as_counterpart(const recorded_step& s) {
    scratch_.failed = false;
    scratch_.as_is = true;
    scratch_.reactions.clear();
    const counterpart& c = facts_.counterparts[s.activation];
    for (std::size_t k = 0; k < s.inputs.size(); ++k) {
      if (!exists(s.inputs[k])) continue;
      reaction_draft r;
      r.input = s.inputs[k].id;
      r.reaction = c.reactions[k];
      if (r.reaction == reaction::reroute) {
        const auto at = std::find_if(s.message.reactions.begin(), s.message.reactions.end(),
                                     [&](const reaction_draft& d) { return d.input == r.input; });
        r.targets = at->targets;
      }
      scratch_.reactions.push_back(r);
    }
  }

  void end_of_counterpart(const recorded_step& s) {
    const std::uint32_t a = s.activation;
    if (!happens_[a]) return;
    open_[a] = 0;
    // The holder starts first, so that the run does not rest in between.
    if (facts_.counterparts[a].stays()) hold(s);
    scratch_ = s.message;
    react_as_counterpart(s);
    const bool submits =
        std::any_of(scratch_.events.begin(), scratch_.events.end(), [](const event_draft& e) { return e.submit; });
    if (submits && is_premature(a)) {
      withholds_[a] = 1;
      hold(s);
      std::erase_if(scratch_.events, [](const event_draft& e) { return e.submit; });
    }
    if (apply(scratch_, s, false)) return mark_announced(s, scratch_);
    end_without_outputs(s);
  }

  void end_without_outputs(const recorded_step& s) {
    scratch_ = s.message;
    react_as_counterpart(s);
    scratch_.events.clear();
    std::erase_if(scratch_.reactions, [](const reaction_draft& r) { return r.reaction == reaction::reroute; });
    apply(scratch_, s, false);
  }

  // Whether early_termination would fire on an answer of this activation now: reachable work that it does not build on.
  bool is_premature(std::uint32_t activation) const {
    const graph::graph& g = run_.graph();
    std::unordered_set<graph::event_index> built_on;
    for (const std::uint32_t e : facts_.inputs[activation]) {
      const graph::event_index at = g.find_event(rec_.events[e]);
      if (at != graph::nobody) add_ancestors(at, built_on);
    }
    return built_on.size() < g.reachable().size();
  }

  // ---- messages that no recorded activation sent

  std::string_view fresh_id() { return names_.emplace_back("counterpart:" + std::to_string(names_.size())); }

  std::string_view start_of_own(std::string_view agent, const name_list& inputs, const recorded_step& s) {
    message m;
    m.type = message_type::activation_started;
    m.seq = s.message.seq;
    m.ts = s.ts;
    m.agent = agent;
    m.activation = fresh_id();
    m.inputs = inputs;
    return apply(m, s, false) ? m.activation : std::string_view();
  }

  void end_of_own(std::string_view activation, bool submit, const recorded_step& s) {
    message m;
    m.type = message_type::activation_ended;
    m.seq = s.message.seq;
    m.ts = s.ts;
    m.as_is = true;
    m.activation = activation;
    if (submit) {
      event_draft& e = m.events.emplace_back();
      e.id = fresh_id();
      e.submit = true;
    }
    apply(m, s, false);
  }

  // Keeps the run active until it comes to rest: the counterpart goes on working.
  void hold(const recorded_step& s) {
    if (!holder_.empty() || run_.terminal() || run_.ended()) return;
    holder_ = start_of_own(rec_.agents[rec_.activations[s.activation].agent], {}, s);
  }

  // Lets the agent consume the work that is pending for it. Returns the number of events.
  std::size_t take_up(std::uint32_t agent, const recorded_step& s) {
    const graph::graph& g = run_.graph();
    const graph::agent_index graph_agent = g.find_agent(rec_.agents[agent]);
    if (graph_agent == graph::nobody) return 0;
    std::vector<std::string> ids;
    for (const graph::event_index e : g.agent(graph_agent).pending) {
      if (g.event(e).is_work()) ids.push_back(g.event(e).id);
    }
    if (ids.empty()) return 0;
    const name_list inputs(ids.begin(), ids.end());
    const std::string_view own = start_of_own(rec_.agents[agent], inputs, s);
    if (own.empty()) return 0;
    end_of_own(own, false, s);
    return ids.size();
  }

  // Passes the answer on to the agent that asked, from there to the agent that asked that one, and so on. Each consumes
  // the work that waits for it. Returns the number of events consumed.
  std::size_t answer_upwards(std::uint32_t activation, const recorded_step& s) {
    std::vector<std::uint32_t> open{activation};
    std::unordered_set<std::uint32_t> seen{activation};
    std::size_t taken = 0;
    while (!open.empty()) {
      const std::uint32_t at = open.back();
      open.pop_back();
      for (const std::uint32_t e : facts_.inputs[at]) {
        const std::uint32_t asked = facts_.source[e];
        if (asked == recorded_run::none || !seen.insert(asked).second) continue;
        taken += take_up(rec_.activations[asked].agent, s);
        open.push_back(asked);
      }
    }
    return taken;
  }

  // No recorded activation follows. The remaining counterparts finish, and answer the user if no work is left.
  void end_activity(const recorded_step& s) {
    if (run_.terminal() || run_.ended()) return;
    bool may_answer = false, withheld = false;
    for (std::uint32_t a = 0; a < rec_.activations.size(); ++a) {
      const counterpart& c = facts_.counterparts[a];
      if (kept_[a] || !happens_[a]) continue;
      withheld |= withholds_[a] != 0;
      may_answer |= withholds_[a] != 0;
      if (!c.stays()) continue;
      if (open_[a]) end_open(a, s);
      std::size_t taken = take_up(rec_.activations[a].agent, s);
      if (c.owes_answer || c.changed) taken += answer_upwards(a, s);
      may_answer |= taken > 0 || c.owes_answer || c.changed || c.last_to_end;
    }
    const bool answers = may_answer && run_.graph().reachable().empty();
    if (holder_.empty() || (withheld && !answers)) return;
    end_of_own(holder_, answers, s);
  }

  void end_open(std::uint32_t activation, const recorded_step& s) {
    hold(s);
    open_[activation] = 0;
    end_of_own(rec_.activations[activation].id, false, s);
  }

  const recorded_run& rec_;
  const recorded_facts& facts_;
  const risk_weights& weights_;
  std::span<const std::uint8_t> kept_;
  run run_;
  std::vector<std::uint8_t> announced_;  // by event: whether it was announced in this replay
  std::vector<std::uint8_t> happens_;    // by activation
  std::vector<std::uint8_t> open_;       // by activation
  std::vector<std::uint8_t> withholds_;  // by activation: a counterpart that did not send its answer
  std::vector<capabilities> able_;       // by session
  std::vector<std::string_view> answers_;
  std::deque<std::string> names_;  // of messages that no recorded activation sent
  std::string_view holder_;        // an open activation that keeps the run active; empty: none
  message scratch_;
  answer answer_;
  double risk_ = 0;
};

}  // namespace

double structure_risk(const recorded_run& run, const recorded_facts& facts, const risk_weights& weights,
                      std::span<const std::uint8_t> kept) {
  return partial_replay(run, facts, weights, kept).risk();
}

}  // namespace digd::shapley
