// Shortens an entry that exceeds the largest message of the stream, so that it does not stop those that follow. It
// removes only what it must, in this order: the texts; the ends of lists, with their lengths before as
// `detections_total` and so on; and everything but what identifies the entry. `cut` marks the entry.
//
// Thread: any. Bounds: memory in proportion to the entry. Failure: `too_large`; `json` is then of no use.
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
