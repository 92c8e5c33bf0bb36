// A digd trace (protocol.md, "Trace files") as a flat log: root events and outputs of activations are the steps, in
// order. Also for a run out of an archive, whose frames are such lines.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "analysis/chief/flat_log.h"

namespace digd::chief {

inline constexpr std::size_t max_trace_bytes = std::size_t{256} << 20;

// False, with `why`, if the first line is no hello, there is no event, or there are more than `max_steps` steps or
// `max_trace_bytes`. Other lines that digd would refuse are left out and counted (`flat_log::left_out`).
//
// A step's text is its payload's `text` or `content`, the payload itself if that is a string, else its JSON. An
// activation that failed is a step of its own. Inputs are the used ones, and problem-generating is meant as in the
// engine: each output of such an activation begins a branch, and what descends from it belongs to it (to the latest
// such on its lineage).
bool read_trace(std::string_view lines, flat_log& into, std::string& why);

}  // namespace digd::chief
