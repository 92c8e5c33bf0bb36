// Random but plausible traces: agents that mostly follow the protocol, forget, crash, lie and repeat themselves.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace oracle {

// `hello` and up to `messages` further lines (fewer where the run ended early). The same arguments give the same trace.
// A third of the seeds stay orderly for long; the others make more mistakes of every kind.
std::vector<std::string> random_trace(std::uint64_t seed, std::size_t messages);

}  // namespace oracle
