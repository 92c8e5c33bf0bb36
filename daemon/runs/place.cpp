#include "daemon/runs/place.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "rules/rule.h"

namespace digd::daemon {

namespace {

constexpr std::size_t max_named = 3;
constexpr std::size_t max_name_bytes = 100;
constexpr std::string_view arrow = " → ";
constexpr std::string_view outside = "outside";  // the event has no source

const witness::node* find_event(const detection& found, std::string_view id) {
  const auto& events = found.witness.events;
  const auto at = std::find_if(events.begin(), events.end(), [&](const witness::node& item) { return item.id == id; });
  return at == events.end() ? nullptr : &*at;
}

std::string source_of(const detection& found, std::string_view event) {
  const witness::node* node = find_event(found, event);
  return node == nullptr || node->agent.empty() ? std::string(outside) : node->agent;
}

// Cuts between two UTF-8 characters.
std::string shortened(const std::string& name) {
  if (name.size() <= max_name_bytes) return name;
  return std::string(utf8_prefix(name, max_name_bytes)) + "…";
}

std::string joined(std::vector<std::string> names) {
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  std::string out;
  for (std::size_t i = 0; i < std::min(names.size(), max_named); ++i) out += (i == 0 ? "" : ", ") + names[i];
  if (names.size() > max_named) out += ", …";
  return out;
}

// The recipients of the event that the detection names.
std::vector<std::string> recipients_of(const detection& found) {
  const place_kind place = rule_of(found.rule).traits.place;
  if (place == place_kind::answer) return {"answer"};
  std::vector<std::string> names;
  if (place == place_kind::evidence) {
    for (const std::string& item : found.evidence) names.push_back(shortened(item));
    return names;
  }
  if (found.agent) return {shortened(*found.agent)};
  for (const witness::edge& edge : found.witness.edges) {
    if (edge.kind == witness::edge_kind::pending && edge.from == *found.event) names.push_back(shortened(edge.to));
  }
  return names;
}

}  // namespace

std::optional<std::string> subject_of(const detection& found) {
  if (found.agent) return found.agent;
  if (!found.event) return std::nullopt;
  const witness::node* node = find_event(found, *found.event);
  return node == nullptr || node->agent.empty() ? std::nullopt : std::optional(node->agent);
}

std::optional<std::string> place_of(const detection& found) {
  if (found.event) {
    const std::string to = joined(recipients_of(found));
    return shortened(source_of(found, *found.event)) + (to.empty() ? std::string() : std::string(arrow) + to);
  }
  std::vector<std::string> pairs;
  for (const witness::edge& edge : found.witness.edges) {
    if (edge.kind != witness::edge_kind::pending) continue;
    pairs.push_back(shortened(source_of(found, edge.from)) + std::string(arrow) + shortened(edge.to));
  }
  return pairs.empty() ? std::nullopt : std::optional(joined(std::move(pairs)));
}

}  // namespace digd::daemon
