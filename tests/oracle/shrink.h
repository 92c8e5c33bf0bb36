// Shortens a failing trace so that a person can read it.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace oracle {

using trace_predicate = std::function<bool(const std::vector<std::string>&)>;

// Returns a shorter trace for which `fails` still holds. Without any further line, output, recipient, input or reaction
// it would pass, unless `max_tries` calls of `fails` were too few. Keeps the first line, and the `hello` of each
// session with further lines. Returns `trace` unchanged if `fails` does not hold for it.
std::vector<std::string> shrink(const std::vector<std::string>& trace, const trace_predicate& fails,
                                std::size_t max_tries = 20000);

}  // namespace oracle
