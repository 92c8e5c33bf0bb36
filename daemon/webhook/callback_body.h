// What a receiver is sent. Pure functions.
//
// Everything in a callback that an agent chose (names, ids, sentences with these) is data: quoted in JSON, and in a
// text for Slack put into code spans that it cannot end, mention anybody from, or link out of.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "archive/callback_reader.h"

namespace digd::daemon {

std::string_view to_string(archive::callback_kind kind);  // detection, intervention

// "3f9a1c07b2d4e5f6-intervention-17": the same at every attempt and to every webhook. `of_archive`: its random prefix.
std::string callback_id(std::string_view of_archive, archive::callback_kind kind, std::int64_t row);

// {"id":…,"run":…,"intervention":{…}}, or "detection".
std::string generic_body(std::string_view id, archive::callback_kind kind, const archive::callback_text& callback);

// {"text":…}
std::string slack_body(archive::callback_kind kind, const archive::callback_text& callback);

// Somebody else's text as a code span of Slack's mrkdwn (and of Markdown), on one line. &, < and > are escaped,
// backticks become apostrophes, control characters escapes; a zero-width space breaks what could become a mention or a
// link. At most `most_span_bytes` of it.
std::string slack_code(std::string_view text);
inline constexpr std::size_t most_span_bytes = 1'500;

}  // namespace digd::daemon
