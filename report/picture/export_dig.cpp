// The paper's library's own format, `dig.graph.v2`: docs/importers.md, "written back", says what goes where.
#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "base/quote.h"
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

// What the format knows of one recipient.
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

void append_record(std::string& out, const recipient& r) {
  out.append("{\"label\":\"").append(r.label).append("\",\"routed_by\":");
  if (r.routed_by.empty()) {
    out += "null";
  } else {
    append_quoted(out, r.routed_by);
  }
  out += ",\"metadata\":{}}";
}

class dig_writer {
 public:
  explicit dig_writer(const recorded_graph& of) : of_(of), m_(of.graph()), events_(m_.events.size()) {}

  std::string write() {
    for (const activation& a : m_.activations) taken_ids_.insert(a.id);
    for (const row& r : m_.rows) take(r);
    std::string out = "{\"schema\":\"dig.graph.v2\",\"created_at\":";
    out += seconds(m_.rows.empty() ? 0 : m_.rows.front().ts);
    out += ",\"event_counter\":" + std::to_string(m_.events.size());
    out += ",\"activation_counter\":" + std::to_string(m_.activations.size() + systems_.size());
    out += ",\"events\":{";
    for (index e = 0; e < m_.events.size() && within(out); ++e) {
      events_[e].text = event_text(e);
      if (e > 0) out += ",\n";
      append_quoted(out, m_.events[e].id);
      out.append(":").append(events_[e].text);
    }
    out += "},\n\"activations\":{";
    bool first = true;
    for (index v = 0; v < m_.activations.size() && within(out); ++v) {
      out += std::exchange(first, false) ? "" : ",\n";
      append_activation(out, v);
    }
    for (const system_act& system_act : systems_) {
      if (!within(out)) break;
      out += std::exchange(first, false) ? "" : ",\n";
      append_system(out, system_act);
    }
    return out + "}}\n";
  }

 private:
  struct event_facts {
    std::map<index, recipient> recipients;  // by lane
    std::map<index, std::string> before;    // of a reroute under way: the recipients as they were, by who reroutes
    std::string stamps;                     // JSON, comma after comma
    std::string system;                     // the activation of the monitor that made it
    std::string intervention;               // metadata of that
    std::string text;
  };
  struct system_act {
    std::string id;
    milliseconds ts;
    index output;  // none: it gave an event to somebody else
  };

  bool within(const std::string& out) const { return out.size() <= of_.bounds().bytes; }

  // An agent of the run's own that is called as the library calls the monitor keeps its acts.
  std::string agent_name(index lane) const {
    const std::string& name = m_.lanes[lane].name;
    return name == system_agent ? "system (agent)" : name;
  }

  void stamp(index e, std::string_view label, milliseconds ts, std::string_view members) {
    std::string& out = events_[e].stamps;
    if (!out.empty()) out += ',';
    out.append("{\"label\":\"").append(label).append("\",\"at\":").append(seconds(ts)).append(members).append("}");
  }

  void delivered(index e, index lane, milliseconds ts) {
    std::string members = ",\"to\":";
    append_quoted(members, agent_name(lane));
    stamp(e, "delivered", ts, members + ",\"metadata\":{}");
  }

  std::string snapshot(index e) const {
    std::string out = "{";
    for (const auto& [lane, record] : events_[e].recipients) {
      if (out.size() > 1) out += ',';
      append_quoted(out, agent_name(lane));
      out += ':';
      append_record(out, record);
    }
    return out + '}';
  }

  void modified(index e, milliseconds ts, const std::string& by, const std::string& before) {
    std::string members = ",\"activation_id\":";
    append_quoted(members, by);
    members += ",\"metadata\":{\"change\":\"reroute\",\"previous_recipient_reactions\":" + before;
    stamp(e, "modified", ts, members + ",\"recipients\":" + snapshot(e) + '}');
  }

  void give(const row& r) {
    for (const giving& g : r.to) {
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
        stamp(r.event, "generated", r.ts, ",\"metadata\":{}");
        for (const giving& g : r.to) events_[r.event].recipients.try_emplace(g.lane);
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
      if (e.stamps.empty()) stamp(in.event, "generated", r.ts, ",\"metadata\":{}");
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
      std::string members = ",\"activation_id\":";
      append_quoted(members, a.id);
      members += ",\"agent_id\":";
      append_quoted(members, agent_name(a.lane));
      members.append(",\"reaction_label\":\"").append(record.label).append("\",\"metadata\":{}");
      stamp(in.event, "reacted", r.ts, members);
    }
  }

  void take_reroute(const row& r, index by_lane, const std::string& by) {
    event_facts& e = events_[r.event];
    const auto kept = e.before.find(by_lane);
    const std::string before = kept != e.before.end() ? std::exchange(kept->second, {}) : snapshot(r.event);
    for (const giving& g : r.to) e.recipients[g.lane] = {};
    modified(r.event, r.ts, by, before.empty() ? snapshot(r.event) : before);
    give(r);
  }

  void take_remedy(const row& r) {
    event_facts& e = events_[r.event];
    if (!m_.events[r.event].system) {  // given to somebody again
      const std::string before = snapshot(r.event);
      for (const giving& g : r.to) e.recipients[g.lane] = {};
      modified(r.event, r.ts, new_system_act(r.ts, none), before);
      return give(r);
    }
    stamp(r.event, "generated", r.ts, ",\"metadata\":{}");
    for (const giving& g : r.to) e.recipients.try_emplace(g.lane);
    e.system = new_system_act(r.ts, r.event);
    e.intervention = "\"intervention_type\":";
    append_quoted(e.intervention, r.findings.empty() ? "" : to_string(m_.findings[r.findings.front()].rule));
    e.intervention += ",\"message\":";
    append_quoted(e.intervention, m_.events[r.event].text);
    give(r);
  }

  std::string event_text(index i) const {
    const event& e = m_.events[i];
    const event_facts& facts = events_[i];
    std::string out = "{\"id\":";
    append_quoted(out, e.id);
    const std::string* payload = of_.payload_of(e.id);
    const bool is_object = payload != nullptr && payload->starts_with('{');
    out += ",\"payload\":";
    if (payload == nullptr) {
      out += "{}";
    } else {
      out += is_object ? *payload : "{\"value\":" + *payload + '}';
    }
    out.append(",\"label\":\"").append(e.kind == "tool" ? "tool" : "communication").append("\"");
    out += ",\"source_activation_id\":";
    if (!facts.system.empty()) {
      append_quoted(out, facts.system);
    } else if (e.source != none) {
      append_quoted(out, m_.activations[e.source].id);
    } else {
      out += "null";
    }
    out += ",\"metadata\":{" + facts.intervention;
    if (!e.kind.empty() && e.kind != "tool" && e.kind != "communication") {
      out.append(facts.intervention.empty() ? "" : ",").append("\"kind\":");
      append_quoted(out, e.kind);
    }
    out += "},\"recipients\":" + snapshot(i) + ",\"timestamps\":[" + facts.stamps;
    return out + "],\"delivery_policy\":{\"mode\":\"immediate\"}}";
  }

  void append_events(std::string& out, const std::vector<index>& which) const {
    out += '[';
    for (std::size_t i = 0; i < which.size() && within(out); ++i) {
      if (i > 0) out += ',';
      out += events_[which[i]].text;
    }
    out += ']';
  }

  void append_activation(std::string& out, index v) const {
    const activation& a = m_.activations[v];
    std::vector<index> inputs;
    for (const input& in : a.inputs) inputs.push_back(in.event);
    append_quoted(out, a.id);
    out += ":{\"id\":";
    append_quoted(out, a.id);
    out += ",\"agent_id\":";
    append_quoted(out, agent_name(a.lane));
    out += ",\"inputs\":";
    append_events(out, inputs);
    out += ",\"outputs\":";
    append_events(out, a.outputs);
    out += ",\"native_input\":null,\"native_output\":null,\"started_at\":" + seconds(a.started) + ",\"ended_at\":";
    out += a.open ? "null" : seconds(a.ended);
    out += ",\"tool_calls\":[],\"input_reactions\":{";
    for (std::size_t i = 0; i < a.inputs.size() && !a.failed; ++i) {
      if (i > 0) out += ',';
      append_quoted(out, m_.events[a.inputs[i].event].id);
      out += ':';
      append_record(out,
                    {label_of(a.inputs[i].reaction), a.inputs[i].reaction == reaction::reroute ? a.id : std::string()});
    }
    out.append("},\"metadata\":{\"dig\":{\"structural\":\"problem-");
    out.append(a.generating() ? "generating" : "reducing").append("\"");
    const bool submits = std::any_of(a.outputs.begin(), a.outputs.end(),
                                     [&](index e) { return m_.events[e].submit && !m_.events[e].given_back; });
    if (submits) out += ",\"submitting\":true";
    if (a.failed) {
      const std::string error = of_.error_of(a.id);
      out += ",\"failed\":{\"error\":";
      append_quoted(out, error);
      out += ",\"message\":";
      append_quoted(out, error);
      out += '}';
    }
    out += "}}}";
  }

  void append_system(std::string& out, const system_act& system_act) const {
    append_quoted(out, system_act.id);
    out += ":{\"id\":";
    append_quoted(out, system_act.id);
    out += ",\"agent_id\":\"system\",\"inputs\":[],\"outputs\":";
    append_events(out, system_act.output == none ? std::vector<index>{} : std::vector<index>{system_act.output});
    out += ",\"native_input\":null,\"native_output\":null,\"started_at\":" + seconds(system_act.ts) +
           ",\"ended_at\":" + seconds(system_act.ts) +
           ",\"tool_calls\":[],\"input_reactions\":{},\"metadata\":{\"dig\":{\"intervention\":true}}}";
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
