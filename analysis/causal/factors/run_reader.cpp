#include "analysis/causal/factors/run_reader.h"

#include <simdjson.h>

#include <algorithm>
#include <boost/unordered/unordered_flat_map.hpp>

#include "engine/run.h"
#include "ingest/protocol/decode.h"
#include "ingest/protocol/replay.h"

namespace digd::causal {

namespace {

using index_of = boost::unordered_flat_map<std::string, std::size_t>;

// Follows the messages of a run and records the facts that factors need.
class recorder {
 public:
  recorder(run_facts& to, const run_window& window) : to_(to), window_(window) {}

  void greet(const hello& h) {
    if (to_.run.empty()) to_.run = h.run;
    for (const auto& [name, value] : h.labels) to_.labels.emplace(name, value);
    if (!h.agents) return;
    for (const std::string& a : *h.agents) agent(a);
  }

  void take(const ingest::record& given_record) {
    if (given_record.kind == ingest::record_kind::message && given_record.ended) note_end(given_record);
    if (is_past(given_record.ts)) return;
    to_.last_ms = std::max(to_.last_ms, given_record.ts);
    count(given_record.answer);
    if (given_record.kind == ingest::record_kind::refused) ++to_.refused;
    to_.decisions += given_record.kind == ingest::record_kind::decision;
    if (given_record.kind != ingest::record_kind::message) return;
    ++to_.messages;
    if (decoder_.decode(given_record.frame, message_).refused) return;
    record(message_, given_record.ts);
  }

 private:
  bool is_past(milliseconds ts) {
    if (!begun_) to_.first_ms = to_.last_ms = ts;
    begun_ = true;
    return (window_.first_ms > 0 && ts - to_.first_ms > window_.first_ms) ||
           (window_.first_messages > 0 && to_.messages >= window_.first_messages);
  }

  void note_end(const ingest::record& record) {
    to_.ended = true;
    to_.outcome = *record.ended;
    const simdjson::padded_string padded(record.frame);
    simdjson::dom::element root;
    simdjson::dom::object metrics;
    if (json_.parse(padded).get(root) != simdjson::SUCCESS || root["metrics"].get(metrics) != simdjson::SUCCESS) return;
    for (const auto field : metrics) {
      double x = 0;
      bool yes = false;
      if (field.value.get(x) == simdjson::SUCCESS) to_.metrics.emplace(std::string(field.key), x);
      else if (field.value.get(yes) == simdjson::SUCCESS) to_.metrics.emplace(std::string(field.key), yes);
    }
  }

  void count(const answer& a) {
    for (const detection& d : a.detections) {
      ++to_.fired[static_cast<std::size_t>(d.rule)];
      to_.failures += d.severity == severity::failure;
    }
    for (const verdict& v : a.verdicts) {
      to_.injections += v.action == action::inject;
      to_.reroute_verdicts += v.action == action::reroute;
      to_.holds += v.action == action::hold;
    }
    to_.interventions += a.interventions.size();
    for (const outcome_report& o : a.outcomes) {
      to_.cleared += o.outcome == outcome_kind::cleared;
      to_.recurred += o.outcome == outcome_kind::recurred;
      to_.unresolved += o.outcome == outcome_kind::unresolved;
    }
  }

  std::size_t agent(std::string_view name) {
    const auto [at, fresh] = agents_.emplace(std::string(name), to_.agents.size());
    if (fresh) to_.agents.emplace_back(name);
    return at->second;
  }

  std::size_t event(std::string_view id, milliseconds ts) {
    const auto [at, fresh] = events_.emplace(std::string(id), to_.events.size());
    if (fresh) {
      to_.events.emplace_back();
      to_.events.back().at_ms = ts;
      to_.events.back().work = !id.starts_with("sys:");
    }
    return at->second;
  }

  void announce(const event_draft& draft, std::size_t source, milliseconds ts) {
    const std::size_t e = event(draft.id, ts);
    run_facts::event_fact& fact = to_.events[e];
    fact.work = !draft.submit && !draft.fyi;
    for (std::string_view name : draft.recipients) fact.recipients.push_back(agent(name));
    waiting_ += draft.recipients.size();
    if (source == no_index) return;
    fact.source = source;
    run_facts::activation_fact& by = to_.activations[source];
    ++by.outputs;
    for (std::size_t i = 0; i < by.inputs.size(); ++i) {
      const bool used = !by.ended_ms || by.reactions[i] == reaction::consume;
      if (used) fact.depth = std::max(fact.depth, to_.events[by.inputs[i]].depth + 1);
    }
  }

  void record(const message& m, milliseconds ts) {
    if (m.usage) {
      to_.tokens += m.usage->input_tokens + m.usage->output_tokens;
      to_.cost += m.usage->cost;
      to_.model_calls += m.usage->model_calls;
      to_.tool_calls += m.usage->tool_calls;
    }
    switch (m.type) {
      case message_type::agent_joined: agent(m.agent); break;
      case message_type::event: announce(m.events.front(), source_of(m.events.front()), ts); break;
      case message_type::activation_started: start(m, ts); break;
      case message_type::activation_ended: end(m, ts); break;
      case message_type::gap: ++to_.gaps; break;
      default: break;
    }
    to_.pending.push_back(waiting_);
  }

  std::size_t source_of(const event_draft& draft) const {
    if (!draft.source) return no_index;
    const auto known = activations_.find(std::string(*draft.source));
    return known == activations_.end() ? no_index : known->second;
  }

  void start(const message& m, milliseconds ts) {
    activations_[std::string(m.activation)] = to_.activations.size();
    run_facts::activation_fact fact;
    fact.agent = agent(m.agent);
    fact.started_ms = ts;
    for (std::string_view id : m.inputs) fact.inputs.push_back(event(id, ts));
    fact.reactions.assign(fact.inputs.size(), reaction::none);
    to_.activations.push_back(std::move(fact));
  }

  void end(const message& m, milliseconds ts) {
    const auto known = activations_.find(std::string(m.activation));
    if (known == activations_.end()) return;
    run_facts::activation_fact& fact = to_.activations[known->second];
    fact.ended_ms = ts;
    fact.failed = m.failed;
    if (m.failed) return;
    std::fill(fact.reactions.begin(), fact.reactions.end(), reaction::consume);
    for (const reaction_draft& r : m.reactions) {
      const auto at = events_.find(std::string(r.input));
      for (std::size_t i = 0; at != events_.end() && i < fact.inputs.size(); ++i) {
        if (fact.inputs[i] == at->second) fact.reactions[i] = r.reaction;
      }
      if (r.reaction == reaction::reroute) waiting_ += r.targets.size();
    }
    for (std::size_t i = 0; i < fact.inputs.size(); ++i) settle(fact, i, ts);
    for (const event_draft& draft : m.events) announce(draft, known->second, ts);
  }

  void settle(const run_facts::activation_fact& by, std::size_t i, milliseconds ts) {
    if (by.reactions[i] != reaction::wait && waiting_ > 0) --waiting_;
    if (by.reactions[i] != reaction::consume) return;
    run_facts::event_fact& e = to_.events[by.inputs[i]];
    if (!e.consumed_ms) e.consumed_ms = ts;
    if (std::find(e.consumers.begin(), e.consumers.end(), by.agent) == e.consumers.end())
      e.consumers.push_back(by.agent);
  }

  run_facts& to_;
  run_window window_;
  bool begun_ = false;
  std::size_t waiting_ = 0;  // pending deliveries, approximately: deliveries given minus inputs taken
  index_of agents_, events_, activations_;
  ingest::decoder decoder_;
  message message_;
  simdjson::dom::parser json_;
};

ingest::replay::listener listener_of(recorder& to, recorder* whole) {
  ingest::replay::listener l;
  l.record = [&to, whole](const ingest::record& record) {
    to.take(record);
    if (whole != nullptr) whole->take(record);
  };
  return l;
}

}  // namespace

struct run_reader::state {
  explicit state(const run_window& window)
      : has_window(window.first_ms > 0 || window.first_messages > 0),
        record(facts, window),
        record_whole(whole, {}),
        through(run_policy{}, listener_of(record, has_window ? &record_whole : nullptr)) {}
  const bool has_window;
  run_facts facts, whole;
  recorder record, record_whole;
  ingest::replay through;
  ingest::decoder decoder;
  hello greeting;

  void greet(const hello& h) {
    record.greet(h);
    record_whole.greet(h);
  }
};

run_reader::run_reader(const run_window& window) : state_(std::make_unique<state>(window)) {}
run_reader::~run_reader() = default;

bool run_reader::line(std::string_view text) {
  if (text.find("\"hello\"") != std::string_view::npos) {
    hello greeting;
    if (!state_->decoder.decode_hello(text, greeting)) state_->greet(greeting);
  }
  return state_->through.line(text);
}

const std::string& run_reader::problem() const { return state_->through.problem(); }
run_facts run_reader::take() {
  if (state_->has_window) state_->facts.whole = std::make_shared<const run_facts>(std::move(state_->whole));
  return std::move(state_->facts);
}

}  // namespace digd::causal
