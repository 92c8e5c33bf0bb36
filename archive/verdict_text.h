// The archive's compact form of verdicts: most frames have only plain `deliver` verdicts, and for these the events' ids
// are enough.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace digd::archive {

// `{"type":"verdicts","seq":5,"verdicts":[{"event":"e3","action":"deliver"}]}` becomes `["e3"]`; any other
// frame stays as it is. The seq is in the row, so nothing is lost.
void compact_verdicts(std::string_view frame, std::string& out);

// The frame again, byte for byte.
std::string expand_verdicts(std::string_view stored, std::uint64_t seq);

}  // namespace digd::archive
