// The frames that a feed reader gets for an archived entry; docs/feed.md describes them. Pure functions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "archive/browser.h"

namespace digd::stored {

// The frames of one entry in order, each with `"seq"`; the last has `"last":true`. Empty for an entry that the feed
// does not show: an opening, a hello or a refused message. The verdicts of the entry are the frame as sent
// (`archive::expand_verdicts`).
std::vector<std::string> feed_frames(const archive::watched_entry& entry, bool with_payloads);

}  // namespace digd::stored
