#include "ingest/importers/dig_graph_reader.h"

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/string.hpp>
#include <string>

namespace digd::importers {
namespace json = boost::json;

namespace {

constexpr std::string_view schema = "dig.graph.v2";

std::string_view view(const json::string& text) { return {text.data(), text.size()}; }
std::string_view view(json::string_view text) { return {text.data(), text.size()}; }

bool is_live(dig_reaction label) { return label == dig_reaction::pending || label == dig_reaction::wait; }

}  // namespace

dig_graph_reader::dig_graph_reader(json_reader& reader, name_table& agents, name_table& events, name_table& activations,
                                   import_counts& counts)
    : reader_(reader), agents_(agents), events_(events), activations_(activations), counts_(counts) {}

dig_tables dig_graph_reader::read(const object& top, std::size_t max_items) {
  const auto found = reader_.string(top, "schema", {}, true);
  if (found && *found != schema) {
    reader_.fail(import_errc::unsupported_schema, "schema", "expected \"dig.graph.v2\", found " + quoted(*found));
  }
  const auto* events = reader_.object(top, "events", {}, true);
  const auto* activations = reader_.object(top, "activations", {}, true);
  tables_.created_us = reader_.seconds(top, "created_at", {});
  if (reader_.failed()) return {};
  if (events->size() + activations->size() > max_items) {
    reader_.fail(import_errc::too_large, {},
                 "events and activations: expected at most " + std::to_string(max_items) + " together");
    return {};
  }
  const auto each = [&](const object& objects, const char* table, const auto& take) {
    for (const auto& member : objects) {
      if (reader_.failed()) return;
      const auto where = place(table, quoted(view(member.key())));
      if (const auto* item = member.value().if_object()) {
        take(view(member.key()), *item, where);
      } else {
        reader_.fail(import_errc::wrong_shape, where, "expected an object");
      }
    }
  };
  each(*events, "events", [&](auto key, const auto& item, const auto& where) { read_event(key, item, where, true); });
  each(*activations, "activations",
       [&](auto key, const auto& item, const auto& where) { read_activation(key, item, where); });
  if (reader_.failed()) return {};
  link();
  return std::move(tables_);
}

void dig_graph_reader::note_time(std::optional<std::int64_t> us) {
  if (us) tables_.latest_us = std::max(tables_.latest_us, *us);
}

void dig_graph_reader::read_event(std::string_view key, const object& from, std::string_view where, bool in_events) {
  dig_event event;
  event.id = events_.safe(key);
  event.in_events = in_events;
  const std::string at(where);
  if (const auto source = reader_.string(from, "source_activation_id", at, false)) {
    event.source = activations_.safe(*source);
  }
  event.label = reader_.string(from, "label", at, false).value_or("");
  event.payload = reader_.find(from, "payload");
  event.metadata = reader_.object(from, "metadata", at, false);
  event.carried_elsewhere = !reader_.find(from, "delivery_policy");
  read_recipients(from, at, event);
  read_stamps(from, at, event);
  if (reader_.failed()) return;
  if (!event.reroutings.empty()) event.recipients = event.reroutings.front().before;
  std::erase(event.recipients, dig_system_agent);
  tables_.events.emplace(event.id, std::move(event));
}

std::optional<dig_reaction> dig_graph_reader::reaction_label(const object& from, std::string_view where) {
  const auto label = reader_.string(from, "label", where, true);
  if (!label) return std::nullopt;
  if (*label == "pending") return dig_reaction::pending;
  if (*label == "consume") return dig_reaction::consume;
  if (*label == "wait") return dig_reaction::wait;
  if (*label == "discard") return dig_reaction::discard;
  if (*label == "reroute") return dig_reaction::reroute;
  reader_.fail(import_errc::wrong_value, place(where, "label"),
               "expected pending, consume, wait, discard or reroute, found " + quoted(*label));
  return std::nullopt;
}

// Agent or event names to reaction records; the keys are the file's own.
std::map<std::string_view, dig_reaction> dig_graph_reader::read_labels(const object& from, std::string_view where) {
  std::map<std::string_view, dig_reaction> out;
  for (const auto& member : from) {
    const auto at = place(where, quoted(view(member.key())));
    const auto* record = member.value().if_object();
    if (!record) {
      reader_.fail(import_errc::wrong_shape, at, "expected a reaction object");
      return {};
    }
    const auto label = reaction_label(*record, at);
    if (!label) return {};
    out.emplace(view(member.key()), *label);
  }
  return out;
}

void dig_graph_reader::read_recipients(const object& from, const std::string& where, dig_event& event) {
  const auto* recipients = reader_.object(from, "recipients", where, false);
  if (!recipients) return;
  for (const auto& member : *recipients) event.recipients.push_back(agents_.safe(view(member.key())));
  read_labels(*recipients, place(where, "recipients"));  // for its checks: the stamps tell what happened, and when
}

void dig_graph_reader::read_stamps(const object& from, const std::string& where, dig_event& event) {
  const auto* stamps = reader_.array(from, "timestamps", where, false);
  if (!stamps) return;
  for (std::size_t i = 0; i < stamps->size() && !reader_.failed(); ++i) {
    const auto at = place(where, "timestamps[" + std::to_string(i) + ']');
    const auto* stamp = (*stamps)[i].if_object();
    if (!stamp) {
      reader_.fail(import_errc::wrong_shape, at, "expected an object");
      return;
    }
    const auto label = reader_.string(*stamp, "label", at, true);
    const auto us = reader_.seconds(*stamp, "at", at);
    if (!label) return;
    if (!us) {
      reader_.fail(import_errc::wrong_shape, place(at, "at"), "expected seconds as a number, found nothing");
      return;
    }
    note_time(us);
    if (*label == "generated") {
      if (!event.generated_us) event.generated_us = us;
    } else if (*label == "delivered") {
      if (const auto to = reader_.string(*stamp, "to", at, true)) tables_.delivered_to.insert(agents_.safe(*to));
    } else if (*label == "modified") {
      read_rerouting(*stamp, *us, at, event);
    } else if (*label != "reacted") {
      reader_.fail(import_errc::wrong_value, place(at, "label"),
                   "expected generated, delivered, modified or reacted, found " + quoted(*label));
    }
  }
}

void dig_graph_reader::read_rerouting(const object& stamp, std::int64_t at_us, const std::string& where,
                                      dig_event& event) {
  const auto* object = reader_.object(stamp, "metadata", where, false);
  if (!object) return;
  if (reader_.string(*object, "change", place(where, "metadata"), false).value_or("") != "reroute") return;
  const auto at = place(where, "metadata");
  const auto* before = reader_.object(*object, "previous_recipient_reactions", at, true);
  const auto* after = reader_.object(*object, "recipients", at, true);
  if (!before || !after) return;
  const auto old_labels = read_labels(*before, place(at, "previous_recipient_reactions"));
  const auto new_labels = read_labels(*after, place(at, "recipients"));
  dig_rerouting change;
  change.at_us = at_us;
  if (const auto by = reader_.string(stamp, "activation_id", where, false)) change.by = activations_.safe(*by);
  for (const auto& [agent, label] : old_labels) change.before.push_back(agents_.safe(agent));
  for (const auto& [agent, label] : new_labels) {
    const auto old = old_labels.find(agent);
    const bool was_live = old != old_labels.end() && is_live(old->second);
    if (label == dig_reaction::reroute && was_live) change.diverted.push_back(agents_.safe(agent));
    if (label == dig_reaction::pending && !(old != old_labels.end() && old->second == label)) {
      change.targets.push_back(agents_.safe(agent));
    }
  }
  event.reroutings.push_back(std::move(change));
}

// In the library's files, inputs and outputs are whole events. The reader also accepts plain ids.
std::vector<std::string_view> dig_graph_reader::read_event_list(const object& from, std::string_view key,
                                                                const std::string& where) {
  std::vector<std::string_view> ids;
  const auto* list = reader_.array(from, key, where, false);
  if (!list) return ids;
  std::set<std::string_view> seen;
  for (std::size_t i = 0; i < list->size() && !reader_.failed(); ++i) {
    const auto at = place(where, std::string(key) + '[' + std::to_string(i) + ']');
    const auto& item = (*list)[i];
    std::optional<std::string_view> id;
    if (const auto* text = item.if_string()) {
      id = view(*text);
    } else if (const auto* event = item.if_object()) {
      id = reader_.string(*event, "id", at, true);
      if (id && !tables_.events.contains(events_.safe(*id))) read_event(*id, *event, at, false);
    } else {
      reader_.fail(import_errc::wrong_shape, at, "expected an event or its id");
    }
    if (id && seen.insert(events_.safe(*id)).second) ids.push_back(events_.safe(*id));
  }
  return ids;
}

void dig_graph_reader::read_activation(std::string_view key, const object& from, const std::string& where) {
  dig_activation activation;
  activation.id = activations_.safe(key);
  const auto agent = reader_.string(from, "agent_id", where, true);
  if (!agent) return;
  activation.agent = *agent == dig_system_agent ? dig_system_agent : agents_.safe(*agent);
  activation.inputs = read_event_list(from, "inputs", where);
  listed_outputs_[activation.id] = read_event_list(from, "outputs", where);
  activation.started_us = reader_.seconds(from, "started_at", where);
  activation.ended_us = reader_.seconds(from, "ended_at", where);
  activation.native_output = reader_.find(from, "native_output");
  note_time(activation.started_us);
  note_time(activation.ended_us);
  if (const auto* reactions = reader_.object(from, "input_reactions", where, false)) {
    for (const auto& [event, label] : read_labels(*reactions, place(where, "input_reactions"))) {
      activation.reactions.emplace(events_.safe(event), label);
    }
  }
  read_annotations(from, where, activation);
  if (!reader_.failed()) tables_.activations.emplace(activation.id, std::move(activation));
}

// `metadata.dig`: `submitting` true, `failed` an object with `error` and `message`.
void dig_graph_reader::read_annotations(const object& from, const std::string& where, dig_activation& activation) {
  const auto* metadata = reader_.object(from, "metadata", where, false);
  const auto at = place(where, "metadata");
  const auto* dig = metadata ? reader_.object(*metadata, "dig", at, false) : nullptr;
  if (!dig) return;
  activation.submits = reader_.boolean(*dig, "submitting", place(at, "dig")).value_or(false);
  const auto* failed = reader_.find(*dig, "failed");
  if (!failed || (failed->is_bool() && !failed->get_bool())) return;
  activation.failed = true;
  if (const auto* details = failed->if_object()) {
    activation.error = reader_.string(*details, "error", place(at, "dig.failed"), false).value_or("");
  }
}

// An event belongs to the activation that it names as its source. The activation's own list only gives the order.
void dig_graph_reader::link() {
  std::set<std::string_view> listed;
  for (auto& [id, event] : tables_.events) {
    if (event.source.empty() || tables_.activations.contains(event.source)) continue;
    ++counts_.unknown_sources;
    event.source = {};
  }
  for (auto& [id, activation] : tables_.activations) {
    for (const auto output : listed_outputs_[id]) {
      const auto event = tables_.events.find(output);
      if (event == tables_.events.end() || event->second.source != id) continue;
      if (listed.insert(output).second) activation.outputs.push_back(output);
    }
    for (const auto input : activation.inputs) {
      const auto event = tables_.events.find(input);
      if (event == tables_.events.end()) {
        if (!activation.is_system()) ++counts_.unknown_inputs;
      } else if (!activation.is_system()) {
        event->second.was_input = true;
      }
    }
  }
  for (auto& [id, event] : tables_.events) {
    if (event.source.empty()) continue;
    auto& source = tables_.activations.at(event.source);
    event.by_system = source.is_system();
    if (!listed.contains(id)) source.outputs.push_back(id);
  }
}

}  // namespace digd::importers
