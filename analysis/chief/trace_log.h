// A digd trace (protocol.md, "Trace files") as a flat log: root events and outputs of activations are the steps, in
// order. Also for a run out of an archive, whose frames are such lines.
#pragma once

#include <boost/system/result.hpp>
#include <string>
#include <string_view>

#include "analysis/chief/flat_log.h"

namespace digd::chief {

// `why` says what is wrong, with the line. At most `max_steps` steps and 256 MiB.
//
// A step's text is its payload's `text` or `content`, the payload itself if that is a string, else its JSON. Inputs are
// those that the activation did not discard. A branch is an output of an activation with more outputs than used inputs;
// what descends from it belongs to it (the latest such on its lineage).
bool read_trace(std::string_view lines, flat_log& into, std::string& why);

}  // namespace digd::chief
