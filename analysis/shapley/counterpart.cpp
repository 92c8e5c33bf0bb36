#include "analysis/shapley/counterpart.h"

#include <algorithm>
#include <unordered_set>

namespace digd::shapley {

namespace {

constexpr std::uint32_t none = recorded_run::none;
// The most events that one search for an answer visits. If it finds none among them, the answer counts as missing.
constexpr std::size_t max_visits = 10'000;

class finder {
 public:
  finder(const recorded_run& run, recorded_facts& facts) : run_(run), facts_(facts) {}

  void find() {
    collect();
    std::uint32_t last_to_end = none;
    for (const recorded_step& s : run_.steps) {
      if (s.activation != none && s.message.type == message_type::activation_ended) last_to_end = s.activation;
    }
    std::vector<std::uint32_t> last_of(run_.agents.size(), none);
    for (std::uint32_t a = 0; a < run_.activations.size(); ++a) last_of[run_.activations[a].agent] = a;
    for (std::uint32_t a = 0; a < run_.activations.size(); ++a) {
      counterpart& c = facts_.counterparts[a];
      c.last = last_of[run_.activations[a].agent] == a;
      c.last_to_end = a == last_to_end;
      c.excused = excused(a);
      c.owes_answer = c.last && owes_answer(a);
      react(a, c);
    }
  }

 private:
  void collect() {
    const std::size_t events = run_.events.size();
    facts_.source.assign(events, none);
    facts_.takers.resize(events);
    recipients_.resize(events);
    work_.assign(events, 1);
    submits_.assign(events, 0);
    facts_.inputs.resize(run_.activations.size());
    facts_.counterparts.resize(run_.activations.size());
    reactions_.resize(run_.activations.size());
    outputs_.resize(run_.activations.size());
    for (std::size_t i = 0; i < run_.steps.size(); ++i) {
      const recorded_step& s = run_.steps[i];
      if (s.kind != recorded_step::step_kind::message) continue;
      for (std::size_t k = 0; k < s.outputs.size(); ++k) announce(s, s.message.events[k], s.outputs[k]);
      if (s.activation == none) continue;
      facts_.last_activity = i;
      if (s.message.type == message_type::activation_started) start(s);
      if (s.message.type == message_type::activation_ended) end(s);
    }
  }

  void announce(const recorded_step& s, const event_draft& e, std::uint32_t event) {
    facts_.source[event] = s.activation;
    recipients_[event].assign(e.recipients.begin(), e.recipients.end());
    work_[event] = !e.fyi && !e.submit;
    submits_[event] = e.submit;
    if (s.activation != none) outputs_[s.activation].push_back(event);
  }

  // Until it ends, an activation holds its inputs: they wait.
  void start(const recorded_step& s) {
    for (const recorded_input& i : s.inputs) {
      facts_.inputs[s.activation].push_back(i.event);
      facts_.takers[i.event].push_back({s.activation, reaction::wait});
    }
    reactions_[s.activation].assign(s.inputs.size(), reaction::wait);
  }

  void end(const recorded_step& s) {
    if (s.message.failed) return;
    for (std::size_t k = 0; k < s.inputs.size(); ++k) {
      const recorded_input& input = s.inputs[k];
      const auto at = std::find_if(s.message.reactions.begin(), s.message.reactions.end(),
                                   [&](const reaction_draft& r) { return r.input == input.id; });
      const reaction r = at == s.message.reactions.end() ? reaction::consume : at->reaction;
      reactions_[s.activation][k] = r;
      for (recorded_facts::taker& t : facts_.takers[input.event]) {
        if (t.activation == s.activation) t.reaction = r;
      }
      if (r != reaction::reroute) continue;
      recipients_[input.event].insert(recipients_[input.event].end(), at->targets.begin(), at->targets.end());
    }
  }

  std::uint32_t agent_of(std::uint32_t activation) const { return run_.activations[activation].agent; }

  bool asked_by(std::uint32_t activation, std::string_view agent) const {
    return std::any_of(facts_.inputs[activation].begin(), facts_.inputs[activation].end(), [&](std::uint32_t e) {
      return facts_.source[e] != none && run_.agents[agent_of(facts_.source[e])] == agent;
    });
  }

  // A request is work for an agent that did not ask for it. An event that goes back to the asking agent is an answer.
  bool is_request(std::uint32_t event) const {
    const std::uint32_t source = facts_.source[event];
    if (source == none || !work_[event]) return false;
    return std::any_of(recipients_[event].begin(), recipients_[event].end(), [&](std::string_view to) {
      return to != run_.agents[agent_of(source)] && !asked_by(source, to);
    });
  }

  // Whether something that descends from `event` reached the agent, or is a submitted answer.
  bool answered(std::uint32_t event, std::string_view agent) const {
    std::vector<std::uint32_t> open{event};
    std::unordered_set<std::uint32_t> seen{event};
    while (!open.empty() && seen.size() < max_visits) {
      const std::uint32_t at = open.back();
      open.pop_back();
      for (const recorded_facts::taker& t : facts_.takers[at]) {
        for (const std::uint32_t e : outputs_[t.activation]) {
          if (!seen.insert(e).second) continue;
          if (submits_[e]) return true;
          if (std::find(recipients_[e].begin(), recipients_[e].end(), agent) != recipients_[e].end()) return true;
          open.push_back(e);
        }
      }
    }
    return false;
  }

  bool excused(std::uint32_t activation) {
    const std::uint32_t agent = agent_of(activation);
    for (std::uint32_t a = first_of(agent); a <= activation; ++a) {
      if (agent_of(a) != agent) continue;
      for (const std::uint32_t e : outputs_[a]) {
        if (is_request(e) && !answered_known(e, agent)) return true;
      }
    }
    return false;
  }

  std::uint32_t first_of(std::uint32_t agent) {
    if (first_.empty()) {
      first_.assign(run_.agents.size(), 0);
      for (std::uint32_t a = static_cast<std::uint32_t>(run_.activations.size()); a-- > 0;) first_[agent_of(a)] = a;
    }
    return first_[agent];
  }

  bool answered_known(std::uint32_t event, std::uint32_t agent) {
    if (known_.empty()) known_.assign(run_.events.size(), 0);
    if (known_[event] == 0) known_[event] = answered(event, run_.agents[agent]) ? 1 : 2;
    return known_[event] == 1;
  }

  bool owes_answer(std::uint32_t activation) {
    return std::any_of(facts_.inputs[activation].begin(), facts_.inputs[activation].end(), [&](std::uint32_t e) {
      return is_request(e) && !answered_known(e, agent_of(facts_.source[e]));
    });
  }

  bool taken_again(std::uint32_t activation, std::uint32_t event) const {
    return std::any_of(facts_.takers[event].begin(), facts_.takers[event].end(), [&](const recorded_facts::taker& t) {
      return t.activation > activation && agent_of(t.activation) == agent_of(activation);
    });
  }

  bool consumed_by_others(std::uint32_t activation, std::uint32_t event) const {
    return std::any_of(facts_.takers[event].begin(), facts_.takers[event].end(), [&](const recorded_facts::taker& t) {
      return t.activation != activation && t.reaction == reaction::consume;
    });
  }

  bool taken_by_others(std::uint32_t activation, std::uint32_t event) const {
    return std::any_of(facts_.takers[event].begin(), facts_.takers[event].end(), [&](const recorded_facts::taker& t) {
      return t.activation > activation && agent_of(t.activation) != agent_of(activation);
    });
  }

  void react(std::uint32_t activation, counterpart& c) const {
    const bool failed = run_.activations[activation].failed;
    for (std::size_t k = 0; k < facts_.inputs[activation].size(); ++k) {
      const std::uint32_t event = facts_.inputs[activation][k];
      const reaction recorded = reactions_[activation][k];
      reaction r = recorded;
      if (recorded == reaction::reroute) {
        if (!taken_by_others(activation, event)) r = reaction::consume;
      } else if (recorded != reaction::consume) {
        const bool again = taken_again(activation, event);
        const bool may_wait = recorded == reaction::wait && (again || (c.excused && !failed));
        if (!may_wait) {
          r = again ? reaction::wait : consumed_by_others(activation, event) ? reaction::discard : reaction::consume;
        }
      }
      c.changed |= r != recorded;
      c.reactions.push_back(r);
    }
    c.changed |= failed || !run_.activations[activation].ended;
  }

  const recorded_run& run_;
  recorded_facts& facts_;
  std::vector<std::vector<std::string_view>> recipients_;  // by event, with those of reroutes
  std::vector<std::uint8_t> work_, submits_, known_;       // by event; known: 0 not yet, 1 answered, 2 not
  std::vector<std::vector<reaction>> reactions_;           // by activation
  std::vector<std::vector<std::uint32_t>> outputs_;        // by activation
  std::vector<std::uint32_t> first_;                       // by agent: its first activation
};

}  // namespace

recorded_facts::recorded_facts(const recorded_run& run) { finder(run, *this).find(); }

}  // namespace digd::shapley
