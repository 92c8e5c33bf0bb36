#include "analysis/shapley/recorded_run.h"

#include <algorithm>

#include "analysis/shapley/digest.h"
#include "ingest/protocol/decode.h"
#include "ingest/protocol/replay.h"

namespace digd::shapley {

struct recorded_run::loader {
  explicit loader(recorded_run& to) : to_(to) {}

  recorded_run& to_;
  ingest::decoder decoder_;
  boost::unordered_flat_map<std::string_view, std::string_view> names_;
  boost::unordered_flat_map<std::string_view, std::uint32_t> events_, activations_, agents_;
  std::vector<std::uint8_t> announced_;  // by event
  std::vector<std::uint32_t> start_of_;  // by activation: its step

  std::string_view own(std::string_view text) {
    if (const auto at = names_.find(text); at != names_.end()) return at->second;
    const std::string_view kept = to_.names_.emplace_back(text);
    names_.emplace(kept, kept);
    return kept;
  }
  void own(name_list& names) {
    for (std::string_view& name : names) name = own(name);
  }
  void own(std::optional<std::string_view>& text) {
    if (text) text = own(*text);
  }
  void own(message& m) {
    m.agent = own(m.agent);
    m.activation = own(m.activation);
    own(m.inputs);
    for (event_draft& e : m.events) {
      e.id = own(e.id);
      own(e.source);
      own(e.recipients);
      own(e.kind);
    }
    for (reaction_draft& r : m.reactions) {
      r.input = own(r.input);
      own(r.targets);
    }
    own(m.event);
    own(m.of);
  }

  std::uint32_t event(std::string_view id) {
    const auto [at, fresh] = events_.try_emplace(id, static_cast<std::uint32_t>(to_.events.size()));
    if (fresh) {
      to_.events.push_back(id);
      announced_.push_back(0);
    }
    return at->second;
  }

  std::uint32_t session(std::string_view name) {
    const std::size_t at =
        static_cast<std::size_t>(std::find(to_.sessions.begin(), to_.sessions.end(), name) - to_.sessions.begin());
    if (at == to_.sessions.size()) to_.sessions.emplace_back(name);
    return static_cast<std::uint32_t>(at);
  }

  void take_hello(std::string_view line) {
    hello h;
    if (decoder_.decode_hello(line, h)) return;
    recorded_step& s = to_.steps.emplace_back();
    s.kind = recorded_step::step_kind::hello;
    s.hello = static_cast<std::uint32_t>(to_.hellos.size());
    s.session = session(h.session);
    if (to_.hellos.empty()) {
      to_.run = h.run;
      to_.settings = effective_settings(h, run_policy{});
      to_.settings.clock = clock_kind::trace;
    }
    to_.hellos.push_back(std::move(h));
  }

  void take(const ingest::record& record) {
    to_.last_ts = std::max(to_.last_ts, record.ts);
    recorded_step s;
    s.ts = record.ts;
    s.session = record.session.empty() ? 0 : session(record.session);
    if (record.kind == ingest::record_kind::operator_mode) {
      s.kind = recorded_step::step_kind::operator_mode;
      s.strongest = *record.strongest;
      to_.steps.push_back(std::move(s));
      return;
    }
    if (record.kind != ingest::record_kind::message || decoder_.decode(record.frame, s.message).refused) {
      s.kind = recorded_step::step_kind::passing_time;
      to_.steps.push_back(std::move(s));
      return;
    }
    own(s.message);
    switch (s.message.type) {
      case message_type::activation_started: start(s); break;
      case message_type::activation_ended: end(s); break;
      case message_type::event: announce(s); break;
      default: break;
    }
    to_.steps.push_back(std::move(s));
  }

  void start(recorded_step& s) {
    s.activation = static_cast<std::uint32_t>(to_.activations.size());
    activations_[s.message.activation] = s.activation;
    start_of_.push_back(static_cast<std::uint32_t>(to_.steps.size()));
    const auto [agent, fresh] = agents_.try_emplace(s.message.agent, static_cast<std::uint32_t>(to_.agents.size()));
    if (fresh) to_.agents.emplace_back(s.message.agent);
    recorded_activation& a = to_.activations.emplace_back();
    a.id = s.message.activation;
    a.agent = agent->second;
    a.started = s.ts;
    a.inputs = s.message.inputs.size();
    for (const std::string_view id : s.message.inputs) {
      const std::uint32_t e = event(id);
      const bool system = id.starts_with("sys:");
      s.inputs.push_back({id, e, !announced_[e] && !system, system});
    }
  }

  void end(recorded_step& s) {
    s.activation = activations_.at(s.message.activation);
    s.inputs = to_.steps[start_of_[s.activation]].inputs;
    recorded_activation& a = to_.activations[s.activation];
    a.ended = true;
    a.failed = s.message.failed;
    std::size_t named = 0;
    for (const reaction_draft& r : s.message.reactions) {
      ++named;
      a.reroutes |= r.reaction == reaction::reroute;
      a.discards |= r.reaction == reaction::discard;
      a.consumes |= r.reaction == reaction::consume;
    }
    a.consumes |= !a.failed && named < a.inputs;  // an input without a reaction is consumed
    outputs(s, a);
  }

  void announce(recorded_step& s) {
    const event_draft& e = s.message.events.front();
    if (e.source) {
      const auto at = activations_.find(*e.source);
      if (at != activations_.end()) s.activation = at->second;
    }
    if (s.activation != none) return outputs(s, to_.activations[s.activation]);
    recorded_activation nobody;
    outputs(s, nobody);
  }

  void outputs(recorded_step& s, recorded_activation& a) {
    for (const event_draft& e : s.message.events) {
      s.outputs.push_back(event(e.id));
      announced_[s.outputs.back()] = 1;
      ++a.outputs;
      a.submits |= e.submit;
    }
  }
};

std::string recorded_run::load(std::string_view trace) {
  digest content;
  content.add(trace);
  text_digest = content.hex();
  loader read(*this);
  ingest::replay::listener to;
  to.record = [&](const ingest::record& record) { read.take(record); };
  ingest::replay through(run_policy{}, std::move(to));
  ingest::decoder peek;
  while (!trace.empty()) {
    const std::size_t end = std::min(trace.find('\n'), trace.size());
    const std::string_view line = trace.substr(0, end);
    trace.remove_prefix(std::min(trace.size(), end + 1));
    const bool greets = peek.header_of(line).type == ingest::line_type::hello;
    if (!through.line(line)) return through.problem();
    if (greets) read.take_hello(line);
  }
  if (through.run() == nullptr) return "not a trace: the file is empty";
  detections = through.counted().detections;
  return {};
}

}  // namespace digd::shapley
