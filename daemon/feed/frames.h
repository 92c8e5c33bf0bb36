// What a feed reader is sent of an archived entry: docs/feed.md. Pure functions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "archive/browser.h"

namespace digd::daemon {

// The frames of one entry in order, each with `"seq"`; the last with `"last":true`. None for what the feed does not
// tell (openings, hellos, refused messages).
std::vector<std::string> feed_frames(const archive::watched_entry& of, bool with_payloads);

}  // namespace digd::daemon
