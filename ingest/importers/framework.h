// The frameworks whose trajectories the importers read.
//
// Constants. Thread: any.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace digd::importers {

enum class framework : std::uint8_t { metagpt, ag2, hyperagent, magentic_one, openhands, swe_agent };

inline constexpr std::array<std::string_view, 6> framework_names{"metagpt",      "ag2",       "hyperagent",
                                                                 "magentic-one", "openhands", "swe-agent"};

constexpr std::string_view to_string(framework f) { return framework_names[static_cast<std::size_t>(f)]; }

}  // namespace digd::importers
