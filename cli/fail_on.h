// The option --fail-on of commands that print detections: which of them make the command exit with 1.
#pragma once

#include <string>
#include <string_view>

#include "base/quote.h"
#include "model/answer.h"

namespace digd::cli {

// A check for CLI11: returns an error sentence; empty if the option allows `kind`.
inline std::string check_fail_on(const std::string& kind) {
  if (kind == "any" || kind == "failure" || kind == "warning" || rule_from(kind)) return {};
  return "expected any, failure, warning or a rule's name (see digctl rules), got " + digd::quoted(kind);
}

// Whether a detection makes the command exit with 1. `kind`: a checked value; empty: no detection does.
inline bool fails_on(std::string_view kind, const detection& d) {
  return !kind.empty() && (kind == "any" || kind == to_string(d.severity) || kind == to_string(d.rule));
}

}  // namespace digd::cli
