// Measures, cuts and wraps text by its width on a terminal. Text is UTF-8 and already safe to print (`safe`): names
// that agents chose are escaped before, as in base/quote.h.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace digd::picture {

// Escapes as `digd::quoted`, without the quotes around it: a name that cannot disguise itself.
std::string safe(std::string_view name);

// Columns that the text takes: two for wide characters, none for combining ones. Escape sequences (SGR) are none.
std::size_t width_of(std::string_view text);

// Cut to `most` columns, ending in … if it was longer.
std::string fit(std::string_view text, std::size_t most);
// As `fit`, with spaces up to exactly `width` columns.
std::string padded(std::string_view text, std::size_t width);

// At spaces into lines of at most `width` columns; a longer word is broken. At least one line.
std::vector<std::string> wrapped(std::string_view text, std::size_t width);

}  // namespace digd::picture
