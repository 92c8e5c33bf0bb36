#include "report/picture/model.h"

#include <algorithm>
#include <boost/json/parse.hpp>
#include <unordered_map>
#include <utility>

#include "report/picture/payload.h"
#include "rules/rule.h"

namespace digd::picture {

std::string_view code_of(rule_id rule) { return rule_of(rule).doc.code; }

std::string_view to_string(fate fate) {
  constexpr std::string_view names[] = {"pending",  "taken", "consumed",  "waiting", "discarded",
                                        "rerouted", "lost",  "withdrawn", "unknown"};
  return names[static_cast<std::size_t>(fate)];
}

index model::find_lane(std::string_view name) const {
  const auto at = std::find_if(lanes.begin(), lanes.end(), [&](const lane& l) { return l.name == name; });
  return at == lanes.end() ? none : static_cast<index>(at - lanes.begin());
}

index model::find_event(std::string_view id) const {
  for (std::size_t i = events.size(); i > 0; --i) {
    if (events[i - 1].id == id) return static_cast<index>(i - 1);
  }
  return none;
}

class recorder::builder {
 public:
  explicit builder(const window& part) : part_(part) {}
  void watch(const ingest::replay& from) { replay_ = &from; }
  void open(std::string_view text);  // the first hello
  void hear(const ingest::record& record);
  model finish();
  bool full() const { return model_.rows.size() >= part_.max_rows; }

 private:
  using name_map = std::unordered_map<std::string, index>;

  const graph::graph& graph() const { return replay_->run()->graph(); }
  index lane_of(std::string_view name);
  index event_of(std::string_view id);  // a placeholder, if it is not known
  row& add(row_kind kind, const ingest::record& of);
  void give(row& r, index event, std::string_view to, bool by_monitor);
  std::vector<index> add_findings(const answer& from);
  void remedy(const ingest::record& of, const intervention& intervention, const std::vector<index>& findings);
  void windows(const ingest::record& of, const std::vector<index>& findings);
  void start(const ingest::record& of);
  void end(const ingest::record& of);
  void reroutes(const ingest::record& of, index v);
  void announce(const ingest::record& of, const event_draft& draft, index source);
  void verdicts(const ingest::record& of, std::size_t first_row, const std::vector<index>& findings);
  void note(const ingest::record& of);
  void resolve_fates();

  const window part_;
  const ingest::replay* replay_ = nullptr;
  ingest::decoder decoder_;
  message message_;
  model model_;
  name_map lanes_, events_, activations_;
  std::unordered_map<std::string, std::string> words_;  // of the message in hand
  // (event, lane) to the row and place of the latest transfer.
  struct place {
    index row, at;
  };
  std::unordered_map<std::uint64_t, place> given_;
};

namespace {

std::uint64_t key_of(index event, index lane) { return (static_cast<std::uint64_t>(event) << 32) | lane; }

fate fate_of(reaction reaction) {
  switch (reaction) {
    case reaction::consume: return fate::consumed;
    case reaction::wait: return fate::waiting;
    case reaction::discard: return fate::discarded;
    case reaction::reroute: return fate::rerouted;
    case reaction::none: break;
  }
  return fate::taken;
}

fate fate_of(graph::delivery_state state) {
  switch (state) {
    case graph::delivery_state::pending: return fate::pending;
    case graph::delivery_state::consumed: return fate::consumed;
    case graph::delivery_state::discarded: return fate::discarded;
    case graph::delivery_state::rerouted: return fate::rerouted;
    case graph::delivery_state::lost: return fate::lost;
    case graph::delivery_state::withdrawn:
    case graph::delivery_state::intercepted: return fate::withdrawn;
    case graph::delivery_state::unknown: return fate::unknown;
  }
  return fate::unknown;
}

}  // namespace

index recorder::builder::lane_of(std::string_view name) {
  const auto [at, is_new] = lanes_.try_emplace(std::string(name), static_cast<index>(model_.lanes.size()));
  if (is_new) model_.lanes.push_back({.name = std::string(name)});
  lane& l = model_.lanes[at->second];
  if (!l.member) {
    const graph::agent_index a = graph().find_agent(name);
    l.member = a != graph::nobody && graph().agent(a).in_roster;
  }
  return at->second;
}

index recorder::builder::event_of(std::string_view id) {
  const auto [at, is_new] = events_.try_emplace(std::string(id), static_cast<index>(model_.events.size()));
  if (is_new) model_.events.push_back({.id = std::string(id), .placeholder = true});
  return at->second;
}

row& recorder::builder::add(row_kind kind, const ingest::record& of) {
  row& r = model_.rows.emplace_back();
  r.kind = kind;
  r.ts = of.ts;
  r.seq = of.seq;
  return r;
}

void recorder::builder::give(row& r, index event, std::string_view to, bool by_monitor) {
  const index lane = lane_of(to);
  transfer& g = r.to.emplace_back();
  g.lane = lane;
  g.by_monitor = by_monitor;
  const graph::event_index e = graph().find_event(model_.events[event].id);
  const graph::agent_index a = graph().find_agent(to);
  if (e != graph::nobody && a != graph::nobody) {
    const graph::delivery* d = graph().find_delivery(e, a);
    if (d != nullptr && d->state == graph::delivery_state::lost) g.fate = fate::lost;
  }
  if (g.fate == fate::lost) return;
  given_[key_of(event, lane)] = {static_cast<index>(&r - model_.rows.data()), static_cast<index>(r.to.size() - 1)};
}

std::vector<index> recorder::builder::add_findings(const answer& from) {
  std::vector<index> added;
  for (const detection& d : from.detections) {
    const index at = static_cast<index>(model_.findings.size());
    added.push_back(at);
    detection& copy = model_.findings.emplace_back(d);
    copy.witness = {};
    model_.healed += d.healed;
    if (d.event) model_.events[event_of(*d.event)].findings.push_back(at);
    for (const std::string& id : d.evidence) {
      const auto known = events_.find(id);
      if (known != events_.end()) model_.events[known->second].evidence.push_back(at);
    }
  }
  return added;
}

// Findings of windows come before the current message.
void recorder::builder::windows(const ingest::record& of, const std::vector<index>& findings) {
  std::vector<bool> flags(findings.size(), false);
  for (std::size_t i = 0; i < findings.size(); ++i) {
    const detection& d = model_.findings[findings[i]];
    if (d.at || flags[i]) continue;
    const intervention* healed_by = nullptr;
    for (const intervention& intervention : of.answer.interventions) {
      if (std::find(intervention.detections.begin(), intervention.detections.end(), i) != intervention.detections.end())
        healed_by = &intervention;
    }
    if (healed_by != nullptr) {
      std::vector<index> its;
      for (const std::uint32_t n : healed_by->detections) {
        its.push_back(findings[n]);
        flags[n] = true;
      }
      remedy(of, *healed_by, its);
      continue;
    }
    row& r = add(row_kind::firing, of);
    r.ts = d.ts;
    r.seq = 0;
    r.findings = {findings[i]};
    if (d.event) r.event = event_of(*d.event);
  }
}

void recorder::builder::remedy(const ingest::record& of, const intervention& intervention,
                               const std::vector<index>& findings) {
  const index e = event_of(intervention.event.value_or(intervention.id));
  row& r = add(row_kind::remedy, of);
  r.ts = findings.empty() ? of.ts : model_.findings[findings.front()].ts;
  r.seq = 0;
  r.event = e;
  r.findings = findings;
  r.injected = !intervention.inject.empty();
  if (!intervention.event) {
    model_.events[e].system = true;
    model_.events[e].placeholder = false;
    model_.events[e].row = static_cast<index>(model_.rows.size() - 1);
    model_.events[e].text = intervention.inject;
  }
  for (const std::string& name : intervention.recipients) give(r, e, name, true);
}

void recorder::builder::start(const ingest::record& of) {
  const index v = static_cast<index>(model_.activations.size());
  activations_[std::string(message_.activation)] = v;
  activation& a = model_.activations.emplace_back();
  a.id = message_.activation;
  a.lane = lane_of(message_.agent);
  a.started = of.ts;
  model_.lanes[a.lane].acted = true;
  a.first_row = a.last_row = static_cast<index>(model_.rows.size());
  for (const std::string_view id : message_.inputs) {
    input& i = a.inputs.emplace_back();
    i.event = event_of(id);
    const auto given = given_.find(key_of(i.event, a.lane));
    if (given == given_.end()) continue;
    i.row = given->second.row;
    transfer& g = model_.rows[i.row].to[given->second.at];
    g.taken_by.push_back(v);
    g.fate = fate::taken;
  }
  add(row_kind::start, of).activation = v;
}

void recorder::builder::end(const ingest::record& of) {
  const auto found = activations_.find(std::string(message_.activation));
  if (found == activations_.end()) return;  // started before the part that is drawn
  const index v = found->second;
  activation& a = model_.activations[v];
  a.open = false;
  a.failed = message_.failed;
  a.ended = of.ts;
  for (input& i : a.inputs) {
    i.reaction = a.failed ? reaction::none : reaction::consume;
    for (const reaction_draft& r : message_.reactions) {
      if (r.input == model_.events[i.event].id) i.reaction = r.reaction;
    }
    if (i.row == none) continue;
    for (transfer& g : model_.rows[i.row].to) {
      if (g.lane == a.lane) g.fate = a.failed ? fate::pending : fate_of(i.reaction);
    }
  }
  reroutes(of, v);
  for (const event_draft& draft : message_.events) announce(of, draft, v);
  model_.activations[v].last_row = static_cast<index>(model_.rows.size());
  add(row_kind::end, of).activation = v;
}

void recorder::builder::reroutes(const ingest::record& of, index v) {
  for (const input& i : std::vector<input>(model_.activations[v].inputs)) {
    if (i.reaction != reaction::reroute) continue;
    for (const reaction_draft& draft : message_.reactions) {
      if (draft.input != model_.events[i.event].id) continue;
      row& r = add(row_kind::reroute, of);
      r.activation = v;
      r.event = i.event;
      for (const std::string_view to : draft.targets) give(r, i.event, to, false);
    }
  }
}

void recorder::builder::announce(const ingest::record& of, const event_draft& draft, index source) {
  auto known = events_.find(std::string(draft.id));
  if (known != events_.end() && !model_.events[known->second].placeholder) events_.erase(known);
  const index e = event_of(draft.id);
  event& node = model_.events[e];
  node.placeholder = false;
  node.kind = draft.kind.value_or(std::string_view{});
  node.submit = draft.submit;
  node.fyi = draft.fyi;
  node.source = source;
  node.row = static_cast<index>(model_.rows.size());
  const auto words = words_.find(node.id);
  if (words != words_.end()) node.text = words->second;
  if (source != none) {
    model_.activations[source].outputs.push_back(e);
    model_.activations[source].last_row = node.row;
  }
  row& r = add(row_kind::event, of);
  r.activation = source;
  r.event = e;
  for (const std::string_view to : draft.recipients) give(r, e, to, false);
}

// The verdicts change the rows of this message.
void recorder::builder::verdicts(const ingest::record& of, std::size_t first_row, const std::vector<index>& findings) {
  for (const verdict& v : of.answer.verdicts) {
    for (std::size_t i = first_row; i < model_.rows.size(); ++i) {
      row& r = model_.rows[i];
      const bool judged =
          (r.kind == row_kind::event || r.kind == row_kind::reroute) && model_.events[r.event].id == v.event;
      if (!judged) continue;
      r.injected = !v.inject.empty();
      for (const std::uint32_t n : v.detections) r.findings.push_back(findings[n]);
      if (v.action != action::reroute) break;
      if (r.kind == row_kind::event && model_.events[r.event].submit) model_.events[r.event].given_back = true;
      for (transfer& g : r.to) {
        if (g.fate == fate::pending) g.fate = fate::withdrawn;
      }
      for (const std::string& name : v.recipients) give(r, r.event, name, true);
      break;
    }
  }
  // Not healed, or in shadow: the finding is still shown.
  for (const index at : findings) {
    const detection& d = model_.findings[at];
    if (!d.at) continue;
    bool reported = false;
    row* its = nullptr;
    for (std::size_t i = first_row; i < model_.rows.size(); ++i) {
      row& r = model_.rows[i];
      reported = reported || std::find(r.findings.begin(), r.findings.end(), at) != r.findings.end();
      const bool same =
          d.event && r.event != none && model_.events[r.event].id == *d.event && r.kind != row_kind::remedy;
      if (same && its == nullptr) its = &r;
    }
    if (!reported && its != nullptr) its->findings.push_back(at);
  }
}

void recorder::builder::note(const ingest::record& of) {
  std::string text;
  note_kind kind = note_kind::change;
  index lane = none;
  switch (message_.type) {
    case message_type::agent_joined:
    case message_type::agent_left:
      lane = lane_of(message_.agent);
      text = message_.type == message_type::agent_joined ? "joins" : "leaves";
      break;
    case message_type::gap:
      kind = note_kind::problem;
      text = "gap: " + std::to_string(message_.dropped) + " messages were not observed";
      break;
    case message_type::run_ended: text = "run ended: " + std::string(digd::to_string(message_.outcome)); break;
    case message_type::delivery:
      if (message_.applied != applied::as_is && message_.applied != applied::unsupported &&
          message_.applied != applied::failed)
        return;
      kind = note_kind::problem;
      text = "the client did not apply a verdict (" + std::string(digd::to_string(message_.applied)) + ")";
      break;
    default: return;
  }
  row& r = add(row_kind::note, of);
  r.note = kind;
  r.lane = lane;
  r.text = std::move(text);
  if (message_.type == message_type::delivery && message_.event) r.event = event_of(*message_.event);
}

void recorder::builder::open(std::string_view text) {
  hello greeting;
  decoder_.decode_hello(text, greeting);
  model_.run = greeting.run;
  if (greeting.agents) {
    for (const std::string& name : *greeting.agents) lane_of(name);
  }
}

void recorder::builder::hear(const ingest::record& record) {
  if (full() || replay_->counted().lines < part_.first_line) return;
  const std::vector<index> findings = add_findings(record.answer);
  windows(record, findings);
  if (record.kind == ingest::record_kind::firing) return;
  if (record.kind == ingest::record_kind::refused) {
    row& r = add(row_kind::note, record);
    r.note = note_kind::problem;
    r.text = "refused: " + std::string(digd::to_string(record.answer.refused.code)) + ": " + record.answer.refused.text;
    return;
  }
  if (decoder_.decode(record.frame, message_).refused) return;
  const std::size_t first_row = model_.rows.size();
  if (!message_.events.empty()) words_ = payload_words(record.frame);
  switch (message_.type) {
    case message_type::activation_started: start(record); break;
    case message_type::activation_ended: end(record); break;
    case message_type::event: {
      const auto source = message_.events.front().source
                              ? activations_.find(std::string(*message_.events.front().source))
                              : activations_.end();
      announce(record, message_.events.front(), source == activations_.end() ? none : source->second);
      break;
    }
    default: note(record);
  }
  verdicts(record, first_row, findings);
}

// A delivery that no activation took has its final state from the graph.
void recorder::builder::resolve_fates() {
  for (row& r : model_.rows) {
    if (r.event == none) continue;
    const graph::event_index e = graph().find_event(model_.events[r.event].id);
    for (transfer& g : r.to) {
      if (g.fate != fate::pending || e == graph::nobody) continue;
      const graph::agent_index a = graph().find_agent(model_.lanes[g.lane].name);
      const graph::delivery* d = a == graph::nobody ? nullptr : graph().find_delivery(e, a);
      if (d != nullptr) g.fate = fate_of(d->state);
    }
  }
  for (activation& a : model_.activations) {
    if (!a.open) continue;
    const graph::activation_index v = graph().find_activation(a.id);
    if (v != graph::nobody) a.stalled = !graph().activation(v).active;
  }
}

model recorder::builder::finish() {
  if (replay_->run() != nullptr) {
    resolve_fates();
    model_.mode = digd::to_string(replay_->run()->settings().mode);
  }
  model_.cut = full();
  return std::move(model_);
}

recorder::recorder(const run_policy& policy, const window& part)
    : builder_(std::make_unique<builder>(part)),
      replay_(policy, {.frame = {}, .record = [this](const ingest::record& record) { builder_->hear(record); }}) {
  builder_->watch(replay_);
}

recorder::~recorder() = default;

bool recorder::line(std::string_view text) {
  const bool first = replay_.run() == nullptr;
  const bool good = !builder_->full() && replay_.line(text);
  if (first && good && replay_.run() != nullptr) builder_->open(text);
  return good;
}
const std::string& recorder::problem() const { return replay_.problem(); }
model recorder::finish() { return builder_->finish(); }

}  // namespace digd::picture
