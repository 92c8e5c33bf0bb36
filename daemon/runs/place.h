// Where in a system a detection occurred, by agents' names, which stay the same from run to run. Pure functions.
#pragma once

#include <optional>
#include <string>

#include "model/answer.h"

namespace digd::daemon {

// The agent that the rule's `except` would name: the detection's agent, else the source of its event.
std::optional<std::string> subject_of(const detection& found);

// From which agent to which: "critic → writer", or "critic → answer" for a submitted event. Names at most three pairs
// or recipients. Nothing if the detection has neither an event nor a pending delivery.
std::optional<std::string> place_of(const detection& found);

}  // namespace digd::daemon
