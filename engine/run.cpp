#include "engine/run.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "rules/describe.h"

namespace digd {

namespace {

graph::graph_limits graph_limits_of(const limits& l) {
  return {.settled_events = l.settled_events, .generators = l.generators};
}

bool any_judges_fyi(const guard_settings& settings) {
  const auto judges = [&settings](const rule* guard) { return guard->traits.judges_fyi && guard->is_on(settings); };
  return std::any_of(guards().begin(), guards().end(), judges);
}

// A run whose judging has stopped remembers this many agents, so that judging can resume.
constexpr std::size_t max_kept_agents = 10'000;

bool reports_at_end(run_outcome outcome) { return outcome == run_outcome::none || outcome == run_outcome::failure; }

}  // namespace

run::run(const run_settings& settings, const hello& first)
    : settings_(settings),
      graph_(graph_limits_of(settings.limits)),
      windows_(graph_, settings_),
      healer_(graph_, settings_),
      guards_on_(is_any_guard_on(settings_.guards)),
      spending_guard_(guard_reading(guard_count_kind::spending, settings_.guards)),
      repeats_guard_(guard_reading(guard_count_kind::repeats, settings_.guards)),
      silence_guard_(guard_reading(guard_count_kind::silence, settings_.guards)),
      judges_fyi_(any_judges_fyi(settings_.guards)),
      silences_(graph_, settings_.guards),
      view_{settings_.guards, spending_, repeats_} {
  if (first.agents) graph_.close_roster();
}

void run::join(const hello& session) {
  if (!session.agents) return;
  for (const std::string& name : *session.agents) graph_.join(graph_.intern(name));
}

// The path of one message.
void run::apply(const message& m, const speaker& from, milliseconds stamp, answer& out) {
  out.clear();
  const milliseconds time = time_of(m, stamp);
  if (unjudged_) return pass_through(m, time, out);
  const bool time_passes_first = settings_.clock == clock_kind::wall || settings_.stamped;
  if (time_passes_first) advance_to(time, out);
  out.refused = check(m);
  if (out.refused) return;
  if (!time_passes_first) advance_to(time, out);
  clock_ = time;
  spending_.begin(clock_);
  record(m, from);
  if (!holds_.empty()) end_taken_holds(&m, out);
  judge(m, from, out);
  carry_out_verdicts(out, from);
  if (ended_ && reports_at_end(m.outcome)) report_at_end(out);
  finish(out);
  if (!ended_) return;
  outcomes_.end(clock_, out);
  while (!holds_.empty()) holds_.close(holds_.by_number().begin()->first);  // later reports still find their numbers
}

// The end of a message, of a decision, or of forgetting what is pending: starts and clears windows, settles events,
// reports cleared symptoms, and forgets settled events beyond the limit.
void run::finish(answer& out) {
  update_windows();
  graph_.settle();
  outcomes_.update(graph_, progress_, clock_, out);
  graph_.forget();
}

void run::advance(milliseconds now, answer& out) {
  out.clear();
  advance_to(std::max(now, clock_), out);
}

void run::switch_mode(mode strongest, milliseconds stamp, answer& out) {
  out.clear();
  const milliseconds now = time_of_daemon(stamp);
  advance_to(now, out);
  clock_ = now;
  settings_.operator_mode = strongest;
  update_windows();
}

// ---- a limit is hit

bool run::can_degrade(limit_id hit, limit_policy policy) const {
  if (unjudged_ || ended_ || policy == limit_policy::refuse) return false;
  return policy == limit_policy::observe || hit != limit_id::live_events || graph_.has_pending();
}

void run::degrade(limit_id hit, limit_policy policy, milliseconds stamp, answer& out) {
  if (!can_degrade(hit, policy)) return;
  const milliseconds now = time_of_daemon(stamp);
  advance_to(now, out);
  clock_ = now;
  if (policy == limit_policy::observe) return stop_judging(hit, out);
  forget_pending(out);
}

void run::adopt_semantics(milliseconds stamp, answer& out) {
  out.clear();
  if (unjudged_ || ended_) return;
  const milliseconds now = time_of_daemon(stamp);
  advance_to(now, out);
  clock_ = now;
  forget_pending(out);
}

void run::forget_pending(answer& out) {
  graph_.gap();
  if (!holds_.empty()) end_taken_holds(nullptr, out);
  finish(out);
}

// Frees the memory of the graph. Watched healings can no longer be followed and are reported as unresolved.
void run::stop_judging(limit_id cause, answer& out) {
  outcomes_.end(clock_, out);
  while (!holds_.empty()) end_hold(holds_.by_number().begin()->first, hold_end::release, {}, out);
  silences_.clear();
  unjudged_ = cause;
  interventions_.forget_events();
  empty_graph();
  held_ = {};
  spare_recipients_ = {};
  outputs_ = {};
  rerouted_ = {};
  findings_ = {};
}

// The agents keep their places in the roster, and the indices that guards and healings use for counting.
void run::empty_graph() {
  struct kept_agent {
    std::string name;
    bool in_roster;
  };
  std::vector<kept_agent> agents;
  const bool is_closed = graph_.roster_closed();
  knows_agents_ = graph_.agent_count() <= max_kept_agents;
  for (graph::agent_index a = 0; knows_agents_ && a < graph_.agent_count(); ++a) {
    agents.push_back({graph_.agent(a).name, graph_.agent(a).in_roster});
  }
  const auto rebuild = []<class Part, class... Args>(Part& part, Args&&... args) {
    std::destroy_at(&part);
    std::construct_at(&part, std::forward<Args>(args)...);
  };
  rebuild(windows_, graph_, settings_);  // before the graph, whose events it refers to
  rebuild(graph_, graph_limits_of(settings_.limits));
  if (is_closed) graph_.close_roster();
  for (const kept_agent& agent : agents) {
    const graph::agent_index a = graph_.intern(agent.name);
    if (agent.in_roster) graph_.join(a);
  }
}

void run::resume_judging(milliseconds stamp) {
  if (!can_resume()) return;
  clock_ = time_of_daemon(stamp);
  unjudged_.reset();
  update_windows();
}

// While judging is stopped.
void run::follow_agents(const message& m) {
  if (m.type == message_type::agent_left) {
    if (const auto a = graph_.find_agent(m.agent); a != graph::nobody) graph_.leave(a);
  }
  if (m.type != message_type::agent_joined && m.type != message_type::activation_started) return;
  const std::size_t max_agents = std::min<std::size_t>(max_kept_agents, settings_.limits.agents);
  if (graph_.find_agent(m.agent) == graph::nobody && graph_.agent_count() >= max_agents) {
    knows_agents_ = false;
  } else {
    graph_.join(graph_.intern(m.agent));
  }
}

// Used after judging has stopped: every event is delivered unchanged, and the run tracks only its agents, its answer
// and its end.
void run::pass_through(const message& m, milliseconds time, answer& out) {
  if (ended_) {
    out.refused.consider(refusal::run_closed, "", std::string(run_closed_words));
    return;
  }
  clock_ = time;
  for (const reaction_draft& r : m.reactions) {
    if (r.reaction == reaction::reroute) out.verdicts.emplace_back().event = r.input;
  }
  for (const event_draft& e : m.events) {
    out.verdicts.emplace_back().event = e.id;
    if (e.submit) let_through(false);  // judging does not resume in a run that has its answer
  }
  if (knows_agents_) follow_agents(m);
  ended_ = m.type == message_type::run_ended;
}

std::optional<milliseconds> run::next_due() const {
  if (ended_) return std::nullopt;
  const std::optional<due_item> window = windows_.next();
  const std::optional<other_due> other = next_other();
  if (other && (!window || other->at < window->at)) return other->at;
  return window ? std::optional(window->at) : std::nullopt;
}

// If both are due at the same time, silences come before holds.
std::optional<run::other_due> run::next_other() const {
  std::optional<other_due> first;
  if (const auto silence = silences_.next()) first = {silence->at, false};
  if (const auto hold = holds_.next(); hold && (!first || hold->first < first->at)) first = {hold->first, true};
  return first;
}

void run::update_windows() {
  windows_.update(clock_, live(), !holds_.empty());
  if (guards_on_) update_silences();
}

milliseconds run::time_of(const message& m, milliseconds stamp) const {
  const milliseconds reported_ms = settings_.clock == clock_kind::wall ? stamp : m.ts.value_or(clock_);
  return std::max(reported_ms, clock_);
}

// The time of an action that the daemon starts itself. With the trace clock it is the run's own time.
milliseconds run::time_of_daemon(milliseconds stamp) const {
  return settings_.clock == clock_kind::wall || settings_.stamped ? std::max(stamp, clock_) : clock_;
}

// ---- time passes

void run::advance_to(milliseconds now, answer& out) {
  while (!ended_) {
    const std::optional<due_item> window = windows_.next();
    const std::optional<other_due> other = next_other();
    if (other && other->at <= now && (!window || other->at < window->at)) {
      apply_other(*other, out);
    } else if (window && window->at <= now) {
      apply_due(*window, out);
    } else {
      return;
    }
  }
}

void run::apply_other(const other_due& due, answer& out) {
  clock_ = std::max(clock_, due.at);
  if (due.is_hold) {
    end_hold(holds_.next()->second, settings_.guards.on_timeout, {}, out);
  } else {
    fire_silence(out);
  }
  update_windows();
}

void run::apply_due(const due_item& due, answer& out) {
  clock_ = std::max(clock_, due.at);
  if (due.window_of == nullptr) {
    graph_.stall(due.index);
  } else {
    fire(due, out);
  }
  update_windows();
}

// Reports the running windows that have not fired: a run that ends without an answer is reported even if its windows
// had no time to pass. In a terminal run no window is running.
void run::report_at_end(answer& out) {
  outcomes_.next_occasion();
  witness_visits_left_ = graph::max_message_visits;
  for (const due_item& due : windows_.unfired()) {
    const finding found = find_due(due);
    report(found, healer_.decide_at_end(*due.window_of, found), out);
  }
}

finding run::find_due(const due_item& due) const {
  finding found = due.window_of->fire(graph_, due.index);
  found.rule = due.window_of->id;
  sort_agents(found, graph_);
  return found;
}

void run::fire(const due_item& due, answer& out) {
  const rule& rule = *due.window_of;
  witness_visits_left_ = graph::max_message_visits;
  const finding found = find_due(due);
  healer_.open_case(false, window_able_);
  const remedy decided = healer_.decide(rule, found);
  healer_.close_case();
  outcomes_.next_occasion();
  intervention prepared;
  if (decided.healed()) prepared = interventions_.prepare(graph_, rule, found, decided);
  const std::uint32_t index = report(found, decided, out);
  if (decided.healed()) {
    watched& w = outcomes_.newest();
    if (!w.has_event) w.label = prepared.id;
    prepared.detections.push_back(index);
    interventions::carry_out(prepared, graph_, found, decided);
    out.interventions.push_back(std::move(prepared));
  }
  windows_.fired(due, decided.healed());
}

}  // namespace digd
