#include "report/observed.h"

#include <algorithm>
#include <boost/unordered/unordered_flat_map.hpp>
#include <chrono>
#include <map>

#include "engine/run.h"
#include "ingest/protocol/decode.h"
#include "ingest/protocol/replay.h"

namespace digd::report {

namespace {

// Found by a view, without a copy.
struct name_hash {
  using is_transparent = void;
  std::size_t operator()(std::string_view name) const { return boost::hash<std::string_view>()(name); }
};
template <class Value>
using by_name = boost::unordered_flat_map<std::string, Value, name_hash, std::equal_to<>>;

std::string limit_effect(const ingest::record& of) {
  if (of.resumes) return "judging has begun again, with an empty graph: what was known before counts as lost (gap)";
  if (!of.policy) return "a limit was reached";
  return "the limit " + std::string(to_string(*of.limit)) + " was reached; " +
         (*of.policy == limit_policy::observe ? "from here on nothing is judged"
                                              : "what was pending counts as lost (gap)");
}

}  // namespace

std::uint64_t observed::members() const {
  const auto its = [](const agent_facts& a) { return a.member || a.activations > 0; };
  return static_cast<std::uint64_t>(std::count_if(agents.begin(), agents.end(), its)) +
         (agents_left_out > 0 ? agents_left_out - 1 : 0);
}

const reported_detection* observed::leading() const {
  const reported_detection* first = nullptr;
  for (const reported_detection& d : detections) {
    if (d.detection.severity == severity::failure) return &d;
    if (first == nullptr) first = &d;
  }
  return first;
}

class observer::builder {
 public:
  builder(const observe_bounds& bounds, const run_policy& policy)
      : bounds_(bounds),
        replay_(policy, {.frame = {}, .record = [this](const ingest::record& record) { hear(record); }}) {
    seen_.time.max_bins = bounds.bins;
    for (rule_facts& r : seen_.rules) r.over_time.assign(bounds.bins, 0);
  }

  bool line(std::string_view text) {
    const bool first = replay_.run() == nullptr;
    const bool good = replay_.line(text);
    if (first && good && replay_.run() != nullptr) greet(text);
    if (good) seen_.guessed.note(text);
    return good;
  }
  const std::string& problem() const { return replay_.problem(); }
  observed finish();

 private:
  struct open_span {
    index agent = none, span = none;
    milliseconds started = 0;
  };

  const graph::graph& graph() const { return replay_.run()->graph(); }
  bool is_member(std::string_view name) const {
    const graph::agent_index a = graph().find_agent(name);
    return a != graph::nobody && graph().agent(a).in_roster;
  }

  void greet(std::string_view text) {
    hello h;
    decoder_.decode_hello(text, h);
    seen_.run = h.run;
    seen_.labels = std::move(h.labels);
    if (h.agents) {
      for (const std::string& name : *h.agents) agent_of(name);
    }
  }

  void hear(const ingest::record& record);
  void pass_to(milliseconds ts);
  index agent_of(std::string_view name);
  index source_of(std::string_view event) const;
  static std::uint64_t flow_key(index from, index to) { return (static_cast<std::uint64_t>(from) << 32) | to; }
  flow* flow_of(index from, index to);
  void give(index from, std::string_view to) {
    if (flow* f = flow_of(from, agent_of(to))) ++f->given;
  }
  void start(const ingest::record& of);
  void end();
  void announce(const event_draft& draft, index from);
  void found(const ingest::record& of);
  void tell(const detection& d, const ingest::record& of, std::size_t place);
  void outcomes(const answer& from);
  void note(milliseconds ts, std::string text);
  std::string decision_in_words(const ingest::record& of);
  void remark(const ingest::record& of);

  const observe_bounds bounds_;
  ingest::replay replay_;
  ingest::decoder decoder_;
  message message_;
  observed seen_;
  bool timed_ = false;
  usage_observer usage_;
  by_name<index> agents_;
  boost::unordered_flat_map<std::uint64_t, std::size_t> flows_;
  by_name<open_span> open_;
  std::map<std::string, std::size_t> awaited_;  // rule, label, time of a listed detection without an outcome so far
  bool spans_full_ = false;
  std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
};

void observer::builder::pass_to(milliseconds ts) {
  if (!timed_) {
    timed_ = true;
    seen_.first_ts = seen_.last_ts = seen_.time.start = ts;
  }
  seen_.last_ts = std::max(seen_.last_ts, ts);
  const int times = seen_.time.doublings_for(ts);
  if (times == 0) return;
  seen_.time.width <<= times;
  for (agent_facts& a : seen_.agents) halve(a.starts, times);
  for (rule_facts& r : seen_.rules) halve(r.over_time, times);
  usage_.halve(times);
}

index observer::builder::agent_of(std::string_view name) {
  const auto known = agents_.find(name);
  if (known != agents_.end()) {
    agent_facts& a = seen_.agents[known->second];
    a.member = a.member || is_member(name);
    return known->second;
  }
  index at = static_cast<index>(seen_.agents.size());
  if (at > bounds_.agents) {  // all further agents share the last row
    at = static_cast<index>(bounds_.agents);
    ++seen_.agents_left_out;
  } else {
    agent_facts& added = seen_.agents.emplace_back();
    added.name = at == bounds_.agents ? std::string("all other agents") : std::string(name);
    seen_.agents_left_out += at == bounds_.agents;
    added.member = is_member(name);
    added.starts.assign(bounds_.bins, 0);
  }
  agents_.emplace(std::string(name), at);  // the engine bounds how many names there are
  return at;
}

// The agent that created an event, if the run still remembers the event.
index observer::builder::source_of(std::string_view event) const {
  const graph::event_index e = graph().find_event(event);
  if (e == graph::nobody) return flow::outside;
  const graph::event_node& node = graph().event(e);
  if (node.system) return flow::monitor;
  if (node.source_agent == graph::nobody) return flow::outside;
  const auto known = agents_.find(graph().agent(node.source_agent).name);
  return known == agents_.end() ? flow::outside : known->second;
}

flow* observer::builder::flow_of(index from, index to) {
  const std::uint64_t key = flow_key(from, to);
  const auto known = flows_.find(key);
  if (known != flows_.end()) return &seen_.flows[known->second];
  if (seen_.flows.size() >= bounds_.flows) {
    ++seen_.flows_left_out;
    return nullptr;
  }
  flows_.emplace(key, seen_.flows.size());
  return &seen_.flows.emplace_back(flow{.from = from, .to = to});
}

void observer::builder::hear(const ingest::record& of) {
  pass_to(of.ts);
  found(of);
  outcomes(of.answer);
  const bool is_message = of.kind == ingest::record_kind::message && !decoder_.decode(of.frame, message_).refused;
  usage_.hear(of, is_message ? &message_ : nullptr, *replay_.run(), seen_.time);
  switch (of.kind) {
    case ingest::record_kind::message: break;
    case ingest::record_kind::refused:
      ++seen_.refused;
      return note(of.ts, "refused: " + std::string(to_string(of.answer.refused.code)) + ": " + of.answer.refused.text);
    case ingest::record_kind::operator_mode:
      return note(of.ts, "the operator switched to " + std::string(to_string(*of.strongest)));
    case ingest::record_kind::limit: return note(of.ts, limit_effect(of));
    case ingest::record_kind::semantics:
      return note(of.ts, "a newer digd continued the run under its own version of the rules");
    case ingest::record_kind::decision: return note(of.ts, decision_in_words(of));
    case ingest::record_kind::firing: return;
  }
  ++seen_.messages;
  if (!is_message) return;
  switch (message_.type) {
    case message_type::activation_started: return start(of);
    case message_type::activation_ended: return end();
    case message_type::event: {
      const event_draft& draft = message_.events.front();
      const auto source = draft.source ? open_.find(*draft.source) : open_.end();
      return announce(draft, source == open_.end() ? flow::outside : source->second.agent);
    }
    default: remark(of);
  }
}

void observer::builder::start(const ingest::record& of) {
  const index agent = agent_of(message_.agent);
  agent_facts& a = seen_.agents[agent];
  ++seen_.activations;
  ++a.activations;
  ++a.open;
  a.inputs += message_.inputs.size();
  ++a.starts[seen_.time.of(of.ts)];
  open_span& o = open_[std::string(message_.activation)];
  o = {.agent = agent, .span = none, .started = of.ts};
  if (seen_.spans.size() >= bounds_.spans) spans_full_ = true;
  if (spans_full_) return;
  o.span = static_cast<index>(seen_.spans.size());
  seen_.spans.push_back({.agent = agent, .id = std::string(message_.activation), .started = of.ts, .ended = of.ts});
}

void observer::builder::end() {
  const auto known = open_.find(message_.activation);
  if (known == open_.end()) return;
  const open_span o = known->second;
  open_.erase(known);
  agent_facts& a = seen_.agents[o.agent];
  --a.open;
  a.failed += message_.failed;
  seen_.failed += message_.failed;
  a.busy_ms += seen_.last_ts - o.started;
  if (o.span != none) {
    span& s = seen_.spans[o.span];
    s.ended = seen_.last_ts;
    s.open = false;
    s.failed = message_.failed;
  }
  std::size_t other = 0;
  const std::size_t inputs = [&] {
    const graph::activation_index v = graph().find_activation(message_.activation);
    return v == graph::nobody ? std::size_t{0} : graph().activation(v).inputs.size();
  }();
  for (const reaction_draft& r : message_.reactions) {
    if (r.reaction == reaction::consume) continue;
    ++other;
    (r.reaction == reaction::wait ? a.waited : r.reaction == reaction::discard ? a.discarded : a.rerouted) += 1;
    if (const auto its = flows_.find(flow_key(source_of(r.input), o.agent)); its != flows_.end())
      ++seen_.flows[its->second].idle;
    for (const std::string_view to : r.targets) give(o.agent, to);
  }
  if (!message_.failed && inputs > other) seen_.agents[o.agent].consumed += inputs - other;
  for (const event_draft& draft : message_.events) announce(draft, o.agent);
}

void observer::builder::announce(const event_draft& draft, index from) {
  ++seen_.events;
  if (from < flow::monitor) ++seen_.agents[from].outputs;
  for (const std::string_view to : draft.recipients) give(from, to);
}

void observer::builder::remark(const ingest::record& of) {
  switch (message_.type) {
    case message_type::agent_joined: return note(of.ts, "joined: " + std::string(message_.agent));
    case message_type::agent_left: return note(of.ts, "left: " + std::string(message_.agent));
    case message_type::gap:
      seen_.dropped += message_.dropped;
      return note(of.ts, "gap: " + std::to_string(message_.dropped) + " messages were not observed");
    case message_type::run_ended:
      seen_.ended = message_.outcome;
      seen_.ended_text = to_string(message_.outcome);
      note(of.ts, "the run ended: " + seen_.ended_text);
      if (!seen_.notes.empty() && seen_.notes_left_out == 0) seen_.notes.back().ends_run = true;
      return;
    case message_type::delivery:
      if (message_.applied == applied::as_is || message_.applied == applied::unsupported ||
          message_.applied == applied::failed) {
        note(of.ts, "the client did not apply a verdict: " + std::string(to_string(message_.applied)));
      }
      return;
    default: return;
  }
}

void observer::builder::note(milliseconds ts, std::string text) {
  if (seen_.notes.size() >= bounds_.notes) {
    ++seen_.notes_left_out;
    return;
  }
  seen_.notes.push_back({ts, std::move(text)});
}

std::string observer::builder::decision_in_words(const ingest::record& of) {
  const auto line = decoder_.own_line_of(of.frame);
  if (!line) return "a person decided on a hold";
  return (line->by.empty() ? "a person" : line->by) +
         (line->decision == hold_end::release ? " released hold:" : " returned hold:") + std::to_string(line->hold);
}

void observer::builder::found(const ingest::record& of) {
  for (const intervention& intervention : of.answer.interventions) {
    const bool is_created = intervention.action == action::create;
    seen_.system_events += is_created;
    seen_.events += is_created;
    for (const std::string& to : intervention.recipients) give(flow::monitor, to);
  }
  for (const verdict& verdict : of.answer.verdicts) {
    for (const std::string& to : verdict.recipients) give(flow::monitor, to);
  }
  for (std::size_t i = 0; i < of.answer.detections.size(); ++i) {
    const detection& d = of.answer.detections[i];
    rule_facts& r = seen_.rules[index_of(d.rule)];
    ++r.found;
    ++seen_.found;
    r.healed += d.healed;
    seen_.healed += d.healed;
    if (!d.healed) ++r.causes[static_cast<std::size_t>(d.cause)];
    ++r.over_time[seen_.time.of(std::max(d.ts, seen_.time.start))];
    const index about = d.agent ? agent_of(*d.agent) : d.event ? source_of(*d.event) : none;
    if (about < flow::monitor) ++seen_.agents[about].findings;
    const bool first_failure = d.severity == severity::failure && r.found == 1;
    if (r.found <= bounds_.of_a_rule && (seen_.detections.size() < bounds_.detections || first_failure)) tell(d, of, i);
  }
}

// Adds the injected text, and the key by which the outcome will find the detection.
void observer::builder::tell(const detection& d, const ingest::record& of, std::size_t place) {
  reported_detection& reported_detection = seen_.detections.emplace_back();
  reported_detection.detection = d;
  reported_detection.line = replay_.counted().lines;
  const auto its = [&](const std::vector<std::uint32_t>& values) {
    return std::find(values.begin(), values.end(), place) != values.end();
  };
  std::string label = d.event.value_or(std::string());
  for (const verdict& v : of.answer.verdicts) {
    if (!its(v.detections)) continue;
    reported_detection.inject = v.inject;
    reported_detection.recipients = v.recipients;
  }
  for (const intervention& v : of.answer.interventions) {
    if (!its(v.detections)) continue;
    reported_detection.inject = v.inject;
    reported_detection.recipients = v.recipients;
    if (!d.event) label = v.id;
  }
  if (d.healed)
    awaited_[std::string(to_string(d.rule)) + '\0' + label + '\0' + std::to_string(d.ts)] = seen_.detections.size() - 1;
}

void observer::builder::outcomes(const answer& from) {
  for (const outcome_report& outcome_report : from.outcomes) {
    ++seen_.rules[index_of(outcome_report.rule)].outcomes[static_cast<std::size_t>(outcome_report.outcome)];
    const auto at =
        awaited_.find(std::string(to_string(outcome_report.rule)) + '\0' +
                      outcome_report.event.value_or(std::string()) + '\0' + std::to_string(outcome_report.detected_ts));
    if (at == awaited_.end()) continue;
    seen_.detections[at->second].outcome = outcome_report.outcome;
    seen_.detections[at->second].outcome_ts = outcome_report.ts;
    awaited_.erase(at);
  }
}

observed observer::builder::finish() {
  seen_.lines = replay_.counted().lines;
  if (const digd::run* run = replay_.run()) {
    seen_.mode = run->settings().mode;
    seen_.clock = run->settings().clock;
    seen_.submitted = run->terminal();
    seen_.usage = usage_.finish(run);
    std::vector<graph::event_index> waiting = run->graph().reachable();
    seen_.pending_total = waiting.size();
    std::sort(waiting.begin(), waiting.end(),
              [&](auto a, auto b) { return graph().event(a).ordinal < graph().event(b).ordinal; });
    for (const graph::event_index e : waiting) {
      if (seen_.pending.size() >= bounds_.pending) break;
      waiting_event& w = seen_.pending.emplace_back();
      w.id = graph().event(e).id;
      for (const graph::delivery& d : graph().event(e).deliveries) {
        if (d.state == graph::delivery_state::pending && w.at.size() < 5) w.at.push_back(graph().agent(d.agent).name);
      }
    }
  }
  for (const auto& [id, o] : open_) {
    if (o.span != none) seen_.spans[o.span].ended = seen_.last_ts;
  }
  seen_.open_at_end = open_.size();
  if (spans_full_) seen_.spans.clear();
  std::stable_sort(seen_.flows.begin(), seen_.flows.end(),
                   [](const flow& a, const flow& b) { return a.given > b.given; });
  seen_.replay_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began_).count();
  return std::move(seen_);
}

observer::observer(const observe_bounds& bounds, const run_policy& policy)
    : builder_(std::make_unique<builder>(bounds, policy)) {}
observer::~observer() = default;
bool observer::line(std::string_view text) { return builder_->line(text); }
const std::string& observer::problem() const { return builder_->problem(); }
observed observer::finish() { return builder_->finish(); }

observed observe(std::string_view trace) {
  observer watch;
  while (!trace.empty()) {
    const std::size_t end = std::min(trace.find('\n'), trace.size());
    if (!watch.line(trace.substr(0, end))) break;
    trace.remove_prefix(std::min(end + 1, trace.size()));
  }
  return watch.finish();
}

}  // namespace digd::report
