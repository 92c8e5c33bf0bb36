// Random but plausible traces: agents mostly follow the protocol, but also fail, repeat messages and make mistakes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace oracle {

// Returns a `hello` and up to `messages` further lines, fewer if the run ends early. The same arguments give the same
// trace. A third of the seeds make few mistakes; the others make more of every kind.
std::vector<std::string> random_trace(std::uint64_t seed, std::size_t messages);

}  // namespace oracle
