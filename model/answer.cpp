#include "model/answer.h"

#include <array>

namespace digd {

namespace {

constexpr std::array<std::string_view, 8> action_names{"none",   "deliver", "inject",  "reroute",
                                                       "create", "hold",    "release", "cancel"};
constexpr std::array<std::string_view, cause_count> cause_names{
    "none", "mode", "as_is", "superseded", "unsupported", "target", "attempts", "budget", "ended"};
constexpr std::array<std::string_view, 2> severity_names{"warning", "failure"};
constexpr std::array<std::string_view, 3> outcome_names{"cleared", "recurred", "unresolved"};

}  // namespace

std::string_view to_string(action action) { return action_names[static_cast<std::size_t>(action)]; }
std::string_view to_string(cause cause) { return cause_names[static_cast<std::size_t>(cause)]; }
std::string_view to_string(severity severity) { return severity_names[static_cast<std::size_t>(severity)]; }
std::string_view to_string(outcome_kind outcome) { return outcome_names[static_cast<std::size_t>(outcome)]; }

void answer::clear() {
  refused = {};
  interventions.clear();
  verdicts.clear();
  detections.clear();
  outcomes.clear();
  unjudged.clear();
}

}  // namespace digd
