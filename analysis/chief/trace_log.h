// Reads a digd trace (protocol.md, "Trace files") as a flat log: root events and outputs of activations are the steps,
// in order. Runs from an archive have the same lines.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "analysis/chief/flat_log.h"

namespace digd::chief {

inline constexpr std::size_t max_trace_bytes = std::size_t{256} << 20;

// Returns false and sets `problem` if the first line is not a hello, if there is no event, or if the trace exceeds
// `max_steps` or `max_trace_bytes`. Other lines that digd would refuse are left out and counted (`flat_log::left_out`).
//
// A step's text is its payload's `text` or `content`, the payload itself if it is a string, else its JSON. A failed
// activation is a step too. `inputs` has only the inputs that the activation used. As in the engine, an activation with
// more outputs than inputs is problem-generating: each of its outputs begins a branch, to which its descendants belong
// until the next branch.
bool read_trace(std::string_view lines, flat_log& into, std::string& problem);

}  // namespace digd::chief
