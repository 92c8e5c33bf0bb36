// Quotes names and texts that agents chose, so that they are safe inside our own texts.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace digd {

// Appends `text` as a JSON string with its quotes. It also escapes U+007F to U+009F and characters that are invisible
// or that reorder or break lines (`hidden` in quote.cpp). So a name cannot disguise itself in a terminal, a log or an
// injected text. `text` should be valid UTF-8; each invalid byte is written as U+FFFD.
void append_quoted(std::string& out, std::string_view text);

std::string quoted(std::string_view text);

// The bytes that `append_quoted` writes.
std::size_t quoted_size(std::string_view text);

// As `quoted`, for a name inside a sentence that is itself written as a JSON string. If the name would take more than
// `max_brief_bytes` there, it is cut and ends with "…".
inline constexpr std::size_t max_brief_bytes = 128;
std::string quoted_briefly(std::string_view text);

// Returns the text if it takes at most `max_bytes` inside a JSON string. Otherwise it is cut to that and ends with "…".
std::string cut_to_quote(std::string text, std::size_t max_bytes);

}  // namespace digd
