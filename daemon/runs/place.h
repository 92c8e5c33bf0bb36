// Where in a system a detection belongs, in names that are the same from run to run: no ids. Pure functions.
#pragma once

#include <optional>
#include <string>

#include "model/answer.h"

namespace digd::daemon {

// The agent that the rule's `except` would name: the detection's own, else the one that its event comes from.
std::optional<std::string> subject_of(const detection& found);

// From which agent to whom: "critic → writer", or "critic → answer" of a submitted event. At most three pairs or
// recipients are named. Nothing where the detection names neither an event nor a pending delivery.
std::optional<std::string> place_of(const detection& found);

}  // namespace digd::daemon
