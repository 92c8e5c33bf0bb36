#include "ingest/importers/dig_replay.h"

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/string.hpp>
#include <limits>
#include <tuple>

namespace digd::importers {
namespace json = boost::json;

namespace {

// The library stamps an output shortly before or after the end of its activation. Stamps within this time count as
// simultaneous. It is far below the shortest default window (5 s).
constexpr std::int64_t same_moment_us = 1'000'000;

// An activation shorter than this was recorded when its work was done, so its start is not the real one.
constexpr std::int64_t shortest_work_us = 1'000;

}  // namespace

bool dig_replay::task::operator>(const task& other) const {
  return std::tie(at_us, kind, id, index) > std::tie(other.at_us, other.kind, other.id, other.index);
}

dig_replay::dig_replay(dig_tables& tables, name_table& events, name_table& activations, trace_writer& writer,
                       import_counts& counts)
    : tables_(tables), events_(events), activations_(activations), writer_(writer), counts_(counts) {
  choose_submits();
  collect_roster();
}

void dig_replay::collect_roster() {
  in_roster_ = tables_.delivered_to;
  for (const auto& [id, activation] : tables_.activations) in_roster_.insert(activation.agent);
  for (const auto& [id, event] : tables_.events) {
    if (event.carried_elsewhere) in_roster_.insert(event.recipients.begin(), event.recipients.end());
  }
  in_roster_.erase(dig_system_agent);
  roster_.assign(in_roster_.begin(), in_roster_.end());
}

// The library marks the activation that submits, and the trace needs an event. An activation that submits without an
// output gets one.
void dig_replay::choose_submits() {
  for (auto& [id, activation] : tables_.activations) {
    if (!activation.submits || activation.failed || activation.is_system()) continue;
    auto& outputs = activation.outputs;
    if (outputs.empty()) {
      dig_event made;
      made.id = events_.fresh(std::string(id) + ":submit");
      made.source = id;
      made.payload = activation.native_output;
      made.generated_us = activation.ended_us;
      outputs.push_back(made.id);
      tables_.events.emplace(made.id, made);
      inferred_submits_.insert(made.id);
    }
    auto chosen = outputs.back();
    std::size_t unaddressed = 0;
    for (const auto output : outputs) {
      if (!tables_.events.at(output).recipients.empty()) continue;
      if (++unaddressed == 1) chosen = output;
    }
    if (unaddressed > 1) chosen = outputs.back();
    if (outputs.size() > 1) inferred_submits_.insert(chosen);
    submits_.insert(chosen);
  }
}

// When the work of an activation began. If it was recorded afterwards, it counts from its last input: its agent was
// busy since then, so the pause is not a deadlock.
std::int64_t dig_replay::begin_of(const dig_activation& activation) const {
  const auto stamped = activation.started_us.value_or(activation.ended_us.value_or(tables_.created_us.value_or(0)));
  if (activation.started_us && activation.ended_us &&
      *activation.ended_us - *activation.started_us >= shortest_work_us) {
    return stamped;
  }
  std::int64_t latest_us = 0;
  for (const auto input : activation.inputs) {
    const auto delivered_us = delivered_at(input, activation.agent, stamped);
    if (!delivered_us) return stamped;
    latest_us = std::max(latest_us, *delivered_us);
  }
  return activation.inputs.empty() ? stamped : latest_us;
}

// When the event last went to the agent, up to a time; nullopt if the graph does not show that.
std::optional<std::int64_t> dig_replay::delivered_at(std::string_view event, std::string_view agent,
                                                     std::int64_t until_us) const {
  const auto found = tables_.events.find(event);
  if (found == tables_.events.end()) return std::nullopt;
  const auto includes = [&](const std::vector<std::string_view>& agents) {
    return std::find(agents.begin(), agents.end(), agent) != agents.end();
  };
  std::optional<std::int64_t> out;
  const auto& generated_us = found->second.generated_us;
  if (generated_us && *generated_us <= until_us && includes(found->second.recipients)) out = *generated_us;
  for (const auto& change : found->second.reroutings) {
    if (change.at_us <= until_us && includes(change.targets)) out = std::max(out.value_or(0), change.at_us);
  }
  return out;
}

void dig_replay::schedule() {
  constexpr auto never = std::numeric_limits<std::int64_t>::max();
  std::map<std::string_view, std::int64_t> first_use;
  for (const auto& [id, activation] : tables_.activations) {
    if (activation.is_system()) {
      ++counts_.system_activations;
      continue;
    }
    if (activation.started_us) {
      for (const auto input : activation.inputs) {
        auto& first = first_use.try_emplace(input, never).first->second;
        first = std::min(first, *activation.started_us);
      }
    }
    unstarted_.insert(id);
    tasks_.push({begin_of(activation), step::start, id});
  }
  for (const auto& [id, event] : tables_.events) {
    if (event.source.empty() || event.by_system) {
      const auto use = first_use.find(id);
      const auto used_us = use == first_use.end() ? never : use->second;
      auto at = std::min(event.generated_us.value_or(never), used_us);
      if (at == never) at = tables_.created_us.value_or(0);
      tasks_.push({at, step::root, id});
    }
    schedule_reroutings(event);
  }
}

// A rerouting that an activation declared as its reaction is part of the activation's end. Any other becomes messages
// of its own.
void dig_replay::schedule_reroutings(const dig_event& event) {
  for (std::size_t i = 0; i < event.reroutings.size(); ++i) {
    const auto by = tables_.activations.find(event.reroutings[i].by);
    if (by != tables_.activations.end() && !by->second.failed) {
      const auto& inputs = by->second.inputs;
      const auto reaction = by->second.reactions.find(event.id);
      if (reaction != by->second.reactions.end() && reaction->second == dig_reaction::reroute &&
          std::find(inputs.begin(), inputs.end(), event.id) != inputs.end()) {
        continue;
      }
    }
    tasks_.push({event.reroutings[i].at_us, step::rerouting, event.id, i});
  }
}

void dig_replay::run() {
  schedule();
  while (!tasks_.empty() || !unstarted_.empty()) {
    if (tasks_.empty()) {
      // They wait for each other's outputs, because their times contradict each other. One of them starts first.
      start(tables_.activations.at(*unstarted_.begin()), true);
      continue;
    }
    const auto next = tasks_.top();
    tasks_.pop();
    now_us_ = std::max(now_us_, next.at_us);
    perform(next);
  }
  if (tables_.latest_us / 1000 > writer_.now()) {
    writer_.message("time", tables_.latest_us / 1000, {});
    ++counts_.times.stated;
  }
  if (submits_.empty()) return;  // the graph may have been saved in the middle of the run
  writer_.message("run_ended", writer_.now(), {{"outcome", "success"}});
  ++counts_.times.inferred;
}

void dig_replay::perform(const task& next) {
  switch (next.kind) {
    case step::root: return write_root(tables_.events.at(next.id));
    case step::output: return write_output(tables_.events.at(next.id));
    case step::start: return start(tables_.activations.at(next.id), false);
    case step::end: return end(tables_.activations.at(next.id));
    case step::rerouting: {
      const auto& event = tables_.events.at(next.id);
      return rewrite_routing(event, event.reroutings[next.index]);
    }
  }
}

void dig_replay::settle(event_state& state) {
  if (state.known && state.pending.empty() && state.open_users == 0) state.settled = true;
}

void dig_replay::deliver(event_state& to, const std::vector<std::string_view>& agents) {
  if (to.settled) return;
  for (const auto agent : agents) {
    if (in_roster_.contains(agent)) to.pending.insert(agent);
  }
}

// The event is in the graph now: records its deliveries, and starts the activations that waited for it.
void dig_replay::announce(std::string_view id) {
  auto& state = states_[id];
  state.known = true;
  deliver(state, tables_.events.at(id).recipients);
  settle(state);
  const auto waiting = waiting_for_.find(id);
  if (waiting == waiting_for_.end()) return;
  for (const auto activation : waiting->second) tasks_.push({now_us_, step::start, activation});
  waiting_for_.erase(waiting);
}

void dig_replay::write_root(const dig_event& event) {
  const bool moved = !event.generated_us || *event.generated_us / 1000 != now_ms();
  json::object members;
  members["as_is"] = true;
  if (moved) members["inferred"] = {"ts"};
  members["event"] = event_object(event, max_payload_bytes);
  writer_.message("event", now_ms(), std::move(members));
  ++(moved ? counts_.times.inferred : counts_.times.stated);
  announce(event.id);
}

void dig_replay::write_output(const dig_event& event) {
  auto object = event_object(event, max_payload_bytes);
  object["source"] = json::string(event.source);
  json::object members;
  members["as_is"] = true;
  members["event"] = std::move(object);
  writer_.message("event", now_ms(), std::move(members));
  ++(event.generated_us ? counts_.times.stated : counts_.times.inferred);
  announce(event.id);
}

void dig_replay::start(const dig_activation& activation, bool forced) {
  if (!unstarted_.contains(activation.id)) return;
  auto& running = running_[activation.id];
  for (const auto input : activation.inputs) {
    if (forced || !tables_.events.contains(input) || states_[input].known) continue;
    waiting_for_[input].push_back(activation.id);
    running.waited = true;
    return;
  }
  unstarted_.erase(activation.id);
  const bool moved = !activation.started_us || *activation.started_us / 1000 != now_ms();
  if (running.waited || forced) ++counts_.reordered;

  json::object members;
  members["activation"] = json::string(activation.id);
  members["agent"] = json::string(activation.agent);
  members["inputs"] = string_array(activation.inputs);
  if (moved) members["inferred"] = {"ts"};
  writer_.message("activation_started", now_ms(), std::move(members));
  ++counts_.activations;
  counts_.inputs.stated += activation.inputs.size();
  ++(moved ? counts_.times.inferred : counts_.times.stated);

  for (const auto input : activation.inputs) {
    auto& state = states_[input];
    if (state.settled) running.settled_inputs.insert(input);
    state.known = true;  // else a placeholder from now on
    deliver(state, {activation.agent});
    ++state.open_users;
  }
  schedule_outputs(activation, now_us_);
}

// Outputs stamped with the end are part of it. Earlier ones are announced when they were made. For later ones the
// activation stays open, as the protocol accepts no output of an activation that has ended.
void dig_replay::schedule_outputs(const dig_activation& activation, std::int64_t started_us) {
  auto& running = running_[activation.id];
  auto end_us = std::max(activation.ended_us.value_or(started_us), started_us);
  running.time_inferred = end_us != activation.ended_us;
  for (const auto id : activation.outputs) {
    const auto generated_at_us = tables_.events.at(id).generated_us.value_or(started_us);
    if (generated_at_us <= end_us + same_moment_us && activation.ended_us) continue;
    if (activation.ended_us) ++counts_.late_outputs;
    running.time_inferred = true;
  }
  for (const auto id : activation.outputs) {
    const auto generated_at_us = tables_.events.at(id).generated_us.value_or(started_us);
    if (generated_at_us > end_us + same_moment_us || !activation.ended_us) end_us = std::max(end_us, generated_at_us);
  }
  for (const auto id : activation.outputs) {
    const auto generated_at_us = tables_.events.at(id).generated_us.value_or(activation.failed ? started_us : end_us);
    if (activation.failed || generated_at_us < end_us - same_moment_us) {
      tasks_.push({std::clamp(generated_at_us, started_us, end_us), step::output, id});
    } else {
      running.outputs_at_end.push_back(id);
    }
  }
  tasks_.push({end_us, step::end, activation.id});
}

json::value dig_replay::reroute(const dig_activation& activation, const dig_event& event, bool& reroutes) {
  auto& state = states_[event.id];
  if (running_[activation.id].settled_inputs.contains(event.id)) {
    ++counts_.dropped_reroutes;
    return "discard";
  }
  std::vector<std::string_view> targets;
  std::set<std::string_view> seen;
  for (const auto& change : event.reroutings) {
    if (change.by != activation.id) continue;
    for (const auto agent : change.targets) {
      if (seen.insert(agent).second) targets.push_back(agent);
    }
  }
  reroutes = true;
  deliver(state, targets);
  counts_.recipients.stated += targets.size();
  return json::object{{"reroute", string_array(targets)}};
}

json::object dig_replay::reactions(const dig_activation& activation, bool& reroutes) {
  json::object out;
  for (const auto input : activation.inputs) {
    const auto declared = activation.reactions.find(input);
    const auto label = declared == activation.reactions.end() ? dig_reaction::consume : declared->second;
    ++(declared == activation.reactions.end() ? counts_.reactions.inferred : counts_.reactions.stated);
    auto& to = out[json::string_view(input.data(), input.size())];
    if (label == dig_reaction::pending || label == dig_reaction::wait) {
      to = "wait";
      continue;
    }
    states_[input].pending.erase(activation.agent);
    const auto event = tables_.events.find(input);
    if (label == dig_reaction::reroute && event != tables_.events.end()) {
      to = reroute(activation, event->second, reroutes);
    } else {
      to = label == dig_reaction::consume ? "consume" : "discard";
    }
  }
  return out;
}

void dig_replay::end(const dig_activation& activation) {
  auto& running = running_[activation.id];
  bool reroutes = false;
  json::object members;
  members["activation"] = json::string(activation.id);
  json::array inferred;
  if (running.time_inferred || *activation.ended_us / 1000 != now_ms()) inferred.emplace_back("ts");
  ++(inferred.empty() ? counts_.times.stated : counts_.times.inferred);
  if (activation.failed) {
    members["failed"] = true;
    if (!activation.error.empty()) members["error"] = shortened(activation.error, max_name_bytes);
  } else {
    const auto before = counts_.reactions.inferred;
    members["reactions"] = reactions(activation, reroutes);
    if (counts_.reactions.inferred > before) inferred.emplace_back("reactions");
    json::array outputs;
    for (const auto id : running.outputs_at_end) {
      outputs.push_back(event_object(tables_.events.at(id), max_payload_bytes / running.outputs_at_end.size()));
    }
    if (!outputs.empty() || reroutes) members["as_is"] = true;
    members["outputs"] = std::move(outputs);
  }
  if (!inferred.empty()) members["inferred"] = std::move(inferred);
  writer_.message("activation_ended", now_ms(), std::move(members));

  for (const auto id : running.outputs_at_end) announce(id);
  for (const auto input : activation.inputs) {
    auto& state = states_[input];
    --state.open_users;
    settle(state);
  }
  running_.erase(activation.id);
}

// A healer, or another agent, took a pending event from its recipients and gave it to others. The protocol has no
// reroute by a third party. So each of those recipients gets an activation. The first one reroutes the event to the new
// recipients; the others discard it. So it stays one reroute act.
void dig_replay::rewrite_routing(const dig_event& event, const dig_rerouting& change) {
  auto& state = states_[event.id];
  std::vector<std::string_view> holders;
  for (const auto agent : change.diverted) {
    if (state.known && state.pending.contains(agent)) holders.push_back(agent);
  }
  if (holders.empty()) {
    ++counts_.dropped_reroutes;
    return;
  }
  ++counts_.system_reroutes;
  bool handed_on = change.targets.empty();
  for (const auto agent : holders) {
    const auto id = activations_.fresh("rerouted:" + std::string(event.id) + ':' + std::string(agent));
    json::object start{{"activation", json::string(id)},
                       {"agent", json::string(agent)},
                       {"inputs", string_array({event.id})},
                       {"on_behalf_of", json::string(change.by.empty() ? dig_system_agent : change.by)}};
    start["inferred"] = {"activation"};
    writer_.message("activation_started", now_ms(), std::move(start));
    json::value reaction = "discard";
    state.pending.erase(agent);
    if (!handed_on) {
      reaction = json::object{{"reroute", string_array(change.targets)}};
      deliver(state, change.targets);
      counts_.recipients.stated += change.targets.size();
    }
    json::object end{{"activation", json::string(id)}};
    if (!handed_on) end["as_is"] = true;
    end["reactions"] = json::object{{json::string_view(event.id.data(), event.id.size()), std::move(reaction)}};
    end["inferred"] = {"activation"};
    writer_.message("activation_ended", now_ms(), std::move(end));
    handed_on = true;
    ++counts_.activations;
    ++counts_.inputs.inferred;
    ++counts_.reactions.inferred;
    counts_.times.stated += 2;
  }
  settle(state);
}

json::object dig_replay::event_object(const dig_event& event, std::size_t payload_bytes) {
  const bool submit = submits_.contains(event.id);
  json::array inferred;
  json::object out;
  out["id"] = json::string(event.id);
  out["recipients"] = string_array(event.recipients);
  if (event.by_system) {
    out["kind"] = "intervention";
  } else if (!event.label.empty()) {
    out["kind"] = shortened(event.label, max_name_bytes);
  }
  if (submit) {
    out["submit"] = true;
    const bool guessed = inferred_submits_.contains(event.id);
    if (guessed) inferred.emplace_back("submit");
    ++(guessed ? counts_.submits.inferred : counts_.submits.stated);
  } else if (event.by_system) {
    out["fyi"] = true;
  } else if (event.recipients.empty() && event.reroutings.empty() && !event.was_input) {
    out["fyi"] = true;  // addressed to nobody and used by nobody: the library calls it a record, no orphan
    inferred.emplace_back("fyi");
  }
  if (!inferred.empty()) out["inferred"] = std::move(inferred);
  out["payload"] = payload_of(event, payload_bytes);
  ++counts_.events;
  if (!event.source.empty() && !event.by_system) ++counts_.sources.stated;
  counts_.recipients.stated += event.recipients.size();
  return out;
}

json::value dig_replay::payload_of(const dig_event& event, std::size_t max_bytes) {
  json::value out = event.payload ? *event.payload : json::value(json::object{});
  if (event.by_system && event.metadata) {
    json::object object;
    for (const char* key : {"intervention_type", "message"}) {
      if (const auto* value = event.metadata->if_contains(key); value && value->is_string()) object[key] = *value;
    }
    if (event.payload) object["payload"] = *event.payload;
    out = std::move(object);
  }
  auto written = json::serialize(out);
  if (written.size() <= max_bytes) return out;
  ++counts_.cut_payloads;
  const auto whole = written.size();
  constexpr std::size_t around = 64;  // bytes of the object around the text
  cut_to_fit(written, max_bytes > around ? max_bytes - around : 2);
  return json::object{{"cut_from_bytes", whole}, {"text", std::move(written)}};
}

}  // namespace digd::importers
