// Sentences that the guards share.
#pragma once

#include <string>

#include "rules/rule.h"

namespace digd {

// What happened to the event, for its sender: "It was delivered.", "It is back with you.", …
std::string consequence(const graph::graph& g, const finding& f);
// The event and its source, and `events` as evidence.
graph::witness_names guard_witness(const graph::graph& g, const finding& f);

}  // namespace digd
