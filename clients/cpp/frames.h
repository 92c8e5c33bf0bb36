// The frames that the client sends, and the verdicts and interventions in those it receives. docs/protocol.md defines
// the fields.
//
// Pure functions: no I/O, no clock, no threads. Texts are expected in UTF-8; other bytes are sent as U+FFFD. Payloads,
// metrics and rules must be JSON already; otherwise the daemon refuses the frame.
#pragma once

#include <boost/json/object.hpp>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "digd/client.h"

namespace digd::client {

// An event that waits for its verdict, with the recipients that it has if the verdict names no others.
struct blocked_event {
  std::string id;
  std::vector<std::string> recipients;
  bool submit = false;

  verdict as_is(std::string_view reason) const;
};

// A message without its number.
struct report {
  std::string type;
  std::string members;  // the JSON that follows `"seq":N`, with its comma
  std::vector<blocked_event> blocked;
  bool last = false;  // may use the room that the window reserves

  // `as_is`: the events were delivered before the message was sent.
  std::string frame(std::uint64_t seq, bool as_is) const;
};

std::string hello_frame(const options& from, std::string_view run, std::string_view mode);
// A short text replaces a payload that would make the event exceed `max_bytes`.
report event_report(const event& announced, std::string_view activation, std::size_t max_bytes);
report start_report(std::string_view activation, std::string_view agent, const std::vector<std::string>& inputs);
report end_report(std::string_view activation, const std::vector<event>& outputs,
                  const std::vector<reaction>& reactions, std::size_t max_bytes);
report failure_report(std::string_view activation, std::string_view error);
report agent_report(std::string_view type, std::string_view agent);  // agent_joined, agent_left
// Reports the delivery of an event or, if `of_intervention`, of an intervention.
report delivery_report(std::string_view id, bool of_intervention, std::string_view applied, std::string_view reason);
report gap_report(std::uint64_t dropped);
report finish_report(outcome reached, std::string_view metrics);

// The verdicts of a `verdicts` frame on these events, in their order. An event without a verdict goes out as is.
std::vector<verdict> read_verdicts(const boost::json::object& frame, const std::vector<blocked_event>& blocked);
intervention read_intervention(const boost::json::object& frame);

}  // namespace digd::client
