// Shortens an entry that exceeds the largest message of the stream; otherwise it would stop the entries after it. It
// removes first the texts; then the ends of lists, whose original lengths it keeps as `detections_total` and so on; and
// last everything that does not identify the entry. The member `cut` marks a shortened entry.
//
// Thread: any. Bounds: memory in proportion to the entry. Failure: `too_large`; do not use `json` after that.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace digd::daemon {

enum class shortening : std::uint8_t {
  cut,        // without texts, and with shorter lists if needed
  bare,       // only what identifies the entry is left
  too_large,  // even that exceeds the limit, or `json` is not an entry
};

// Shortens `json`, an entry as archive/entry_stream.h writes it, to at most `max_bytes`.
shortening shorten_entry(std::string& json, std::size_t max_bytes);

}  // namespace digd::daemon
