// Checks an operator's healing text: its placeholders must be facts of the rule.
#pragma once

#include <string>

#include "rules/rule.h"

namespace digd::daemon {

// Returns what is wrong with `pattern` as the text of the rule; otherwise an empty string.
std::string wrong_with_text(const rule& which, const std::string& pattern);

}  // namespace digd::daemon
