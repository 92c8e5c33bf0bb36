// Sentences that the guards share.
#pragma once

#include <string>
#include <string_view>

#include "rules/rule.h"

namespace digd {

// The effect of the guard's action, for the sender: "So the event "e2" was not delivered and is back with you.", …
// Empty if the action only adds a text.
std::string consequence(const graph::graph& g, const finding& f);
// What the sender should do now. Empty if its work is cancelled.
std::string advice_unless_cancelled(const finding& f, std::string_view advice);
// The event and its source, and `events` as evidence.
graph::witness_names guard_witness(const graph::graph& g, const finding& f);

}  // namespace digd
