// The engine's answers to a trace, in the format of the oracle (tests/oracle/oracle.h), so that tests compare both.
#pragma once

#include <string>
#include <vector>

namespace digd::tests {

std::vector<std::string> engine_answers(const std::vector<std::string>& trace);

// Describes the first difference between engine and oracle on a trace: the line and both answers. Empty if they agree.
std::string disagreement(const std::vector<std::string>& trace);

}  // namespace digd::tests
