// Checks a healing text of the operator's own: it may name the rule's facts, and no others.
#pragma once

#include <string>

#include "rules/rule.h"

namespace digd::daemon {

// What is wrong with `pattern` as the text of `which`, in words; empty if nothing is.
std::string wrong_with_text(const rule& which, const std::string& pattern);

}  // namespace digd::daemon
