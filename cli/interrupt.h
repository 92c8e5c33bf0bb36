// Ctrl-C in attribution.
#pragma once

#include <atomic>

namespace digd::cli {

// The first call begins to catch Ctrl-C. The first Ctrl-C sets the result: attribution stops, and reports what it has
// so far. The second one ends digctl. Any thread.
const std::atomic<bool>& stop_asked();

}  // namespace digd::cli
