#include "engine/message.h"

#include <array>

namespace digd {

namespace {

constexpr std::array<std::string_view, 9> type_names{
    "agent_joined", "agent_left", "event", "activation_started", "activation_ended",
    "delivery", "gap", "time", "run_ended"};
constexpr std::array<std::string_view, 5> reaction_names{"none", "consume", "wait", "discard", "reroute"};
constexpr std::array<std::string_view, 6> applied_names{"as_is", "injected", "rerouted",
                                                        "created", "unsupported", "failed"};
constexpr std::array<std::string_view, 4> outcome_names{"none", "success", "failure", "aborted"};

}  // namespace

void message::clear() {
  type = message_type::time;
  seq = 0;
  ts.reset();
  as_is = false;
  agent = {};
  activation = {};
  inputs.clear();
  events.clear();
  reactions.clear();
  failed = false;
  event.reset();
  of.reset();
  how = applied::injected;
  dropped = 0;
  outcome = run_outcome::none;
}

std::string_view to_string(message_type type) {
  return type_names[static_cast<std::size_t>(type)];
}
std::string_view to_string(reaction what) {
  return reaction_names[static_cast<std::size_t>(what)];
}
std::string_view to_string(applied how) {
  return applied_names[static_cast<std::size_t>(how)];
}
std::string_view to_string(run_outcome outcome) {
  return outcome_names[static_cast<std::size_t>(outcome)];
}

}  // namespace digd
