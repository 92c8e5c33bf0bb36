// Makes a failing trace small enough to read.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace oracle {

using trace_predicate = std::function<bool(const std::vector<std::string>&)>;

// A trace that still fails and from which no single line, output, recipient, input or reaction can be taken away
// without its passing (as far as `most_tries` calls of `fails` reach). The first line, and the `hello` of every session
// still speaking, stay. `trace` itself has to fail; it is returned as it is if it does not.
std::vector<std::string> shrink(const std::vector<std::string>& trace, const trace_predicate& fails,
                                std::size_t most_tries = 20000);

}  // namespace oracle
