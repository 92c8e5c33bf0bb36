// Ctrl-C in attribution.
#pragma once

#include <atomic>

namespace digd::cli {

// Set by the first Ctrl-C after the first call: attribution stops then, and reports the results so far. The second one
// ends digctl.
const std::atomic<bool>& stop_asked();

}  // namespace digd::cli
