// The colours of all pictures and pages. The hues are those of Okabe and Ito, which colour-blind people can tell apart.
// No information depends on hue alone.
//
// Style sheets refer to them as `var(--fail)`. A page defines the variables. In a picture that stands alone they are
// replaced by their values, because many viewers do not support variables.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace digd::picture {

struct hue {
  std::string_view name;         // of the variable, without --
  std::string_view light, dark;  // "#rrggbb"
};

std::span<const hue> palette();

// `:root{--ink:…}` for light, and for dark by the reader's preference.
std::string palette_variables();

// A flat style sheet (no @-rules) with variables replaced by their values: first the light ones; then, for readers who
// prefer dark, the declarations with a colour again.
std::string with_colours(std::string_view css);

// A flat style sheet whose selectors hold only within `prefix`, so that it can stand in a page with others.
std::string scoped(std::string_view css, std::string_view prefix);

}  // namespace digd::picture
