// Checks an operator's healing text: its placeholders must be facts of the rule.
#pragma once

#include <string>

#include "rules/rule.h"

namespace digd::daemon {

// The problem of `pattern` as the text of the rule; empty if there is none.
std::string wrong_with_text(const rule& which, const std::string& pattern);

}  // namespace digd::daemon
