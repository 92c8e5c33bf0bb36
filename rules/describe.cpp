#include "rules/describe.h"

#include <algorithm>
#include <string>

#include "base/quote.h"
#include "graph/witness.h"

namespace digd {

namespace {

constexpr std::size_t max_brief_evidence = 4;

// The archive promises at most 20 KiB for a detection with its verdict or intervention (docs/archive.md). In the worst
// case the texts of the remedy, the session's name, the columns and SQLite's pages take the rest.
constexpr std::size_t max_described_bytes = 10'000;
constexpr std::size_t max_written_evidence = 4'400;  // the archive has no more of it in JSON

std::size_t written_size(const std::vector<std::string>& names) {
  std::size_t bytes = 0;
  for (const std::string& name : names) bytes += quoted_size(name) + 1;
  return bytes;
}

// The bytes left for the witness. The evidence is part of the contract; the witness may be cut.
std::size_t witness_bytes(const detection& d) {
  const std::size_t event = quoted_size(d.event.value_or("")), agent = quoted_size(d.agent.value_or(""));
  const std::size_t used =
      2 * event + 2 * agent + quoted_size(d.reason) + std::min(written_size(d.evidence), max_written_evidence);
  return max_described_bytes - std::min(used, max_described_bytes);
}

// Appends names until one of the limits of a detection's evidence is reached.
template <class Indices, class NameOf>
void list_evidence(detection& d, const Indices& indices, bool is_brief, NameOf name_of) {
  const std::size_t max_ids = is_brief ? max_brief_evidence : detection::max_evidence;
  std::size_t bytes = 0;
  for (const auto& i : indices) {
    bytes += name_of(i).size();
    if (d.evidence.size() == max_ids || bytes > detection::max_evidence_bytes) return;
    d.evidence.push_back(name_of(i));
  }
}

}  // namespace

void sort_agents(finding& found, const graph::graph& g) {
  std::vector<graph::agent_index>& agents = found.agents;
  const auto listed = agents.begin() + static_cast<std::ptrdiff_t>(std::min(agents.size(), detection::max_evidence));
  std::partial_sort(agents.begin(), listed, agents.end(),
                    [&](graph::agent_index a, graph::agent_index b) { return g.agent(a).name < g.agent(b).name; });
  g.count_visited(agents.size());
}

detection describe(const graph::graph& g, const rule& rule, const finding& found, std::size_t& visits_left,
                   bool is_brief) {
  detection d;
  d.rule = rule.id;
  d.severity = found.warning ? severity::warning : rule.severity;
  if (is_guard(rule.id)) d.guard = found.action;
  d.limits = found.limits;
  if (found.event != graph::nobody) d.event = g.event(found.event).id;
  if (found.agent != graph::nobody) d.agent = g.agent(found.agent).name;
  d.evidence_total = found.events.size() + found.agents.size() + found.ids.size();
  list_evidence(d, found.events.first(detection::max_evidence), is_brief,
                [&](auto e) -> const std::string& { return g.event(e).id; });
  list_evidence(d, found.ids, is_brief, [](const std::string& id) -> const std::string& { return id; });
  list_evidence(d, found.agents, is_brief, [&](auto a) -> const std::string& { return g.agent(a).name; });
  d.reason = rule.reason(g, found);
  if (is_brief) {
    d.witness.truncated = true;
  } else {
    d.witness = graph::make_witness(g, rule.witness(g, found), visits_left, witness_bytes(d));
  }
  return d;
}

std::vector<graph::event_ref> evidence_refs(const graph::graph& g, const finding& found) {
  std::vector<graph::event_ref> refs;
  for (const graph::event_index e : found.events.first(detection::max_evidence)) refs.push_back(g.ref(e));
  return refs;
}

}  // namespace digd
