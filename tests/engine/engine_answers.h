// The engine's answers to a trace, in the words of the oracle (tests/oracle/oracle.h), so that the two compare.
#pragma once

#include <string>
#include <vector>

namespace digd::tests {

std::vector<std::string> engine_answers(const std::vector<std::string>& trace);

// Where engine and oracle first differ on a trace; empty if they agree. Says the line of the trace and both answers.
std::string disagreement(const std::vector<std::string>& trace);

}  // namespace digd::tests
