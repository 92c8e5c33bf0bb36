// The fields of a log line, for JSON logs.
//
// A line is `event name=value … [: text]`. A value is a JSON string (base/quote.h) or a word without spaces.
#pragma once

#include <string>
#include <string_view>

namespace digd::daemon {

// The line as members of a JSON object, without the braces: `"event"`, then a member for each pair, then `"message"`
// with the rest, if any. Integers, true and false keep their type. A line of another form is one `"message"`.
std::string log_fields(std::string_view line);

}  // namespace digd::daemon
