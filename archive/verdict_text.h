// The archive's compact form of `verdicts` frames. Most have only plain `deliver` verdicts, and for these the events'
// ids are enough. Others refer to the detections that are stored beside them (detection_text.h).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "archive/detection_text.h"
#include "archive/entry.h"

namespace digd::archive {

// `{"type":"verdicts","seq":5,"verdicts":[{"event":"e3","action":"deliver"}]}` becomes `["e3"]`. The seq is in the row,
// so nothing is lost. In the others each detection becomes its id; the first of `rows` has `first_id`. Characters that
// the frame escapes to make them visible stand for themselves. Any other text stays as it is.
void compact_verdicts(std::string_view frame, std::span<const detection_row> rows, std::int64_t first_id,
                      std::string& out);

// The frame again, byte for byte; nullopt: a detection cannot be read.
std::optional<std::string> expand_verdicts(std::string_view stored, std::uint64_t seq, const detection_source& whole);

}  // namespace digd::archive
