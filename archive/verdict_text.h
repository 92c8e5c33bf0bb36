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

// The entry tells which form applies (`entry::only_deliveries`). The frame
// `{"type":"verdicts","seq":5,"verdicts":[{"event":"e3","action":"deliver"}]}` is stored as `["e3"]`. The seq is in the
// row, so nothing is lost. In both forms, characters escaped only for visibility are stored unescaped.
void compact_deliveries(std::string_view event_ids, std::string& out);
// For any other frame: replaces each detection by an id. The first of `rows` has the id `first_id`.
void compact_verdicts(std::string_view frame, std::span<const detection_row> rows, std::int64_t first_id,
                      std::string& out);

// Whether the ids of plain deliveries are stored. The column has no other mark: the ids are an array, a frame is an
// object.
bool is_deliveries(std::string_view stored);

// The frame again, byte for byte; nullopt: a detection cannot be read.
std::optional<std::string> expand_verdicts(std::string_view stored, std::uint64_t seq, const detection_source& whole);

}  // namespace digd::archive
