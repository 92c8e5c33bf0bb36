// How the simulated agents read a text: the quoted names in it, and nothing else. No sentence has a meaning, so agents
// cannot be written to fit a text. The form of the intervention and the names decide the reaction (agent.h).
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace digd::bench {

inline constexpr std::size_t max_names_read = 16;

// The quoted names in a text, in order and each once, at most `max_names_read`.
std::vector<std::string> names_in(std::string_view text);

}  // namespace digd::bench
