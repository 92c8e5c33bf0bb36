// The paper's library's own format, `dig.graph.v2`: docs/importers.md, column "written back", has the mapping.
#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "base/json_writer.h"
#include "report/picture/export.h"

namespace digd::picture {

namespace {

constexpr std::string_view system_agent = "system";

std::string seconds(milliseconds ms) {
  const std::uint64_t size = ms < 0 ? 0 - static_cast<std::uint64_t>(ms) : static_cast<std::uint64_t>(ms);
  std::string fraction = std::to_string(1'000 + size % 1'000);
  fraction.front() = '.';
  return (ms < 0 ? "-" : "") + std::to_string(size / 1'000) + fraction;
}

// What the format stores for a recipient.
struct recipient {
  std::string_view label = "pending";
  std::string routed_by;
};

std::string_view label_of(reaction reaction) {
  switch (reaction) {
    case reaction::wait: return "wait";
    case reaction::discard: return "discard";
    case reaction::reroute: return "reroute";
    case reaction::consume: return "consume";
    case reaction::none: break;
  }
  return "pending";
}

void write_record(json_writer& to, const recipient& r) {
  to.open_object().key("label").text(r.label).key("routed_by").text_or_null(r.routed_by);
  to.key("metadata").open_object().close_object().close_object();
}

class dig_writer {
 public:
  explicit dig_writer(const recorded_graph& of) : of_(of), m_(of.graph()), events_(m_.events.size()) {}

  std::string write() {
    for (const activation& a : m_.activations) taken_ids_.insert(a.id);
    for (const row& r : m_.rows) take(r);
    std::string out;
    json_writer to(out);
    to.open_object().key("schema").text("dig.graph.v2");
    to.key("created_at").raw(seconds(m_.rows.empty() ? 0 : m_.rows.front().ts));
    to.key("event_counter").integer(m_.events.size());
    to.key("activation_counter").integer(m_.activations.size() + systems_.size());
    to.key("events").open_object();
    for (index e = 0; e < m_.events.size() && within(out); ++e) {
      events_[e].text = event_text(e);
      if (e > 0) to.new_line();
      to.key(m_.events[e].id).raw(events_[e].text);
    }
    to.close_object().new_line().key("activations").open_object();
    bool first = true;
    for (index v = 0; v < m_.activations.size() && within(out); ++v) {
      if (!std::exchange(first, false)) to.new_line();
      write_activation(to, out, v);
    }
    for (const system_act& system_act : systems_) {
      if (!within(out)) break;
      if (!std::exchange(first, false)) to.new_line();
      write_system(to, out, system_act);
    }
    to.close_object().close_object();
    return out + '\n';
  }

 private:
  struct event_facts {
    std::map<index, recipient> recipients;  // by lane
    std::map<index, std::string> before;    // of a reroute under way: the recipients as they were, by who reroutes
    std::vector<std::string> stamps;        // JSON
    std::string system;                     // the activation of the monitor that made it
    std::string intervention;               // the rule of that, for its metadata; set with `system`
    std::string text;
  };
  struct system_act {
    std::string id;
    milliseconds ts;
    index output;  // none: it gave an event to another agent
  };

  bool within(const std::string& out) const { return out.size() <= of_.bounds().bytes; }

  // An agent of the run that has the library's name for the monitor keeps its own activations.
  std::string agent_name(index lane) const {
    const std::string& name = m_.lanes[lane].name;
    return name == system_agent ? "system (agent)" : name;
  }

  // `write` adds the members that follow the time.
  template <class Write>
  void stamp(index e, std::string_view label, milliseconds ts, const Write& write) {
    json_writer to(events_[e].stamps.emplace_back());
    to.open_object().key("label").text(label).key("at").raw(seconds(ts));
    write(to);
    to.close_object();
  }
  static void no_metadata(json_writer& to) { to.key("metadata").open_object().close_object(); }

  void delivered(index e, index lane, milliseconds ts) {
    stamp(e, "delivered", ts, [&](json_writer& to) {
      to.key("to").text(agent_name(lane));
      no_metadata(to);
    });
  }

  std::string snapshot(index e) const {
    std::string out;
    json_writer to(out);
    to.open_object();
    for (const auto& [lane, record] : events_[e].recipients) write_record(to.key(agent_name(lane)), record);
    to.close_object();
    return out;
  }

  void modified(index e, milliseconds ts, const std::string& by, const std::string& before) {
    stamp(e, "modified", ts, [&](json_writer& to) {
      to.key("activation_id").text(by).key("metadata").open_object().key("change").text("reroute");
      to.key("previous_recipient_reactions").raw(before).key("recipients").raw(snapshot(e)).close_object();
    });
  }

  void give(const row& r) {
    for (const transfer& g : r.to) {
      if (g.fate != fate::lost) delivered(r.event, g.lane, r.ts);
    }
  }

  std::string new_system_act(milliseconds ts, index output) {
    std::string id;
    do {
      id = "system:" + std::to_string(++next_system_);
    } while (taken_ids_.contains(id));
    systems_.push_back({id, ts, output});
    return id;
  }

  void take(const row& r) {
    switch (r.kind) {
      case row_kind::event:
        stamp(r.event, "generated", r.ts, no_metadata);
        for (const transfer& g : r.to) events_[r.event].recipients.try_emplace(g.lane);
        return give(r);
      case row_kind::start: return take_start(r);
      case row_kind::end: return take_end(r);
      case row_kind::reroute:
        return take_reroute(r, m_.activations[r.activation].lane, m_.activations[r.activation].id);
      case row_kind::remedy: return take_remedy(r);
      case row_kind::firing:
      case row_kind::note: return;
    }
  }

  void take_start(const row& r) {
    const activation& a = m_.activations[r.activation];
    for (const input& in : a.inputs) {
      event_facts& e = events_[in.event];
      if (e.stamps.empty()) stamp(in.event, "generated", r.ts, no_metadata);
      if (e.recipients.try_emplace(a.lane).second) delivered(in.event, a.lane, r.ts);
    }
  }

  void take_end(const row& r) {
    const activation& a = m_.activations[r.activation];
    if (a.failed) return;
    for (const input& in : a.inputs) {
      event_facts& e = events_[in.event];
      recipient& record = e.recipients[a.lane];
      if (in.reaction == reaction::reroute) e.before[a.lane] = snapshot(in.event);
      record.label = label_of(in.reaction);
      if (in.reaction == reaction::reroute) record.routed_by = a.id;
      stamp(in.event, "reacted", r.ts, [&](json_writer& to) {
        to.key("activation_id").text(a.id).key("agent_id").text(agent_name(a.lane));
        to.key("reaction_label").text(record.label);
        no_metadata(to);
      });
    }
  }

  void take_reroute(const row& r, index by_lane, const std::string& by) {
    event_facts& e = events_[r.event];
    const auto kept = e.before.find(by_lane);
    const std::string before = kept != e.before.end() ? std::exchange(kept->second, {}) : snapshot(r.event);
    for (const transfer& g : r.to) e.recipients[g.lane] = {};
    modified(r.event, r.ts, by, before.empty() ? snapshot(r.event) : before);
    give(r);
  }

  void take_remedy(const row& r) {
    event_facts& e = events_[r.event];
    if (!m_.events[r.event].system) {  // given to an agent again
      const std::string before = snapshot(r.event);
      for (const transfer& g : r.to) e.recipients[g.lane] = {};
      modified(r.event, r.ts, new_system_act(r.ts, none), before);
      return give(r);
    }
    stamp(r.event, "generated", r.ts, no_metadata);
    for (const transfer& g : r.to) e.recipients.try_emplace(g.lane);
    e.system = new_system_act(r.ts, r.event);
    e.intervention = r.findings.empty() ? "" : to_string(m_.findings[r.findings.front()].rule);
    give(r);
  }

  std::string event_text(index i) const {
    const event& e = m_.events[i];
    const event_facts& facts = events_[i];
    std::string out;
    json_writer to(out);
    to.open_object().key("id").text(e.id).key("payload");
    const recorded_payload* payload = of_.payload_of(e.id);
    if (payload != nullptr && payload->is_object) {
      to.raw(payload->json);
    } else {
      to.open_object();
      if (payload != nullptr) to.key("value").raw(payload->json);
      to.close_object();
    }
    to.key("label").text(e.kind == "tool" ? "tool" : "communication").key("source_activation_id");
    if (!facts.system.empty()) {
      to.text(facts.system);
    } else if (e.source != none) {
      to.text(m_.activations[e.source].id);
    } else {
      to.null();
    }
    to.key("metadata").open_object();
    if (!facts.system.empty()) to.key("intervention_type").text(facts.intervention).key("message").text(e.text);
    if (!e.kind.empty() && e.kind != "tool" && e.kind != "communication") to.key("kind").text(e.kind);
    to.close_object().key("recipients").raw(snapshot(i)).key("timestamps").open_array();
    for (const std::string& stamp : facts.stamps) to.raw(stamp);
    to.close_array().key("delivery_policy").open_object().key("mode").text("immediate").close_object().close_object();
    return out;
  }

  // `out`: what `to` writes to.
  void write_events(json_writer& to, const std::string& out, const std::vector<index>& events) const {
    to.open_array();
    for (std::size_t i = 0; i < events.size() && within(out); ++i) to.raw(events_[events[i]].text);
    to.close_array();
  }

  void write_activation(json_writer& to, const std::string& out, index v) const {
    const activation& a = m_.activations[v];
    std::vector<index> inputs;
    inputs.reserve(a.inputs.size());
    for (const input& in : a.inputs) inputs.push_back(in.event);
    to.key(a.id).open_object().key("id").text(a.id).key("agent_id").text(agent_name(a.lane)).key("inputs");
    write_events(to, out, inputs);
    to.key("outputs");
    write_events(to, out, a.outputs);
    to.key("native_input").null().key("native_output").null().key("started_at").raw(seconds(a.started));
    to.key("ended_at").raw(a.open ? "null" : seconds(a.ended));
    to.key("tool_calls").open_array().close_array().key("input_reactions").open_object();
    for (std::size_t i = 0; i < a.inputs.size() && !a.failed; ++i) {
      const bool rerouted = a.inputs[i].reaction == reaction::reroute;
      to.key(m_.events[a.inputs[i].event].id);
      write_record(to, {label_of(a.inputs[i].reaction), rerouted ? a.id : std::string()});
    }
    to.close_object().key("metadata").open_object().key("dig").open_object();
    to.key("structural").text(a.generating() ? "problem-generating" : "problem-reducing");
    const bool submits = std::any_of(a.outputs.begin(), a.outputs.end(),
                                     [&](index e) { return m_.events[e].submit && !m_.events[e].given_back; });
    if (submits) to.key("submitting").boolean(true);
    if (a.failed) {
      const std::string error = of_.error_of(a.id);
      to.key("failed").open_object().key("error").text(error).key("message").text(error).close_object();
    }
    to.close_object().close_object().close_object();
  }

  void write_system(json_writer& to, const std::string& out, const system_act& system_act) const {
    to.key(system_act.id).open_object().key("id").text(system_act.id).key("agent_id").text(system_agent);
    to.key("inputs").open_array().close_array().key("outputs");
    write_events(to, out, system_act.output == none ? std::vector<index>{} : std::vector<index>{system_act.output});
    to.key("native_input").null().key("native_output").null();
    to.key("started_at").raw(seconds(system_act.ts)).key("ended_at").raw(seconds(system_act.ts));
    to.key("tool_calls").open_array().close_array().key("input_reactions").open_object().close_object();
    to.key("metadata").open_object().key("dig").open_object().key("intervention").boolean(true);
    to.close_object().close_object().close_object();
  }

  const recorded_graph& of_;
  const model& m_;
  std::vector<event_facts> events_;
  std::vector<system_act> systems_;
  std::set<std::string> taken_ids_;
  std::size_t next_system_ = 0;
};

}  // namespace

std::string write_dig_graph(const recorded_graph& of) { return dig_writer(of).write(); }

}  // namespace digd::picture
