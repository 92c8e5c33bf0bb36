// Describes findings: the part of a detection that comes from the graph and the rule alone.
#pragma once

#include <cstddef>
#include <vector>

#include "graph/graph.h"
#include "model/answer.h"
#include "rules/rule.h"

namespace digd {

// Sorts a finding's agents by name, as far as a detection lists them.
void sort_agents(finding& found, const graph::graph& g);

// The detection of a finding: rule, severity, event, agent, evidence, reason, witness. The caller adds the time, the
// session and the decision. `visits_left`: the node visits that the message may still spend on witnesses
// (graph/witness.h).
// `is_brief`: few ids of evidence, and no witness.
detection describe(const graph::graph& g, const rule& rule, const finding& found, std::size_t& visits_left,
                   bool is_brief);

// The events in a detection's evidence, by reference: to watch whether the symptom clears.
std::vector<graph::event_ref> evidence_refs(const graph::graph& g, const finding& found);

}  // namespace digd
