// A report as Markdown, and as JSON for programs. Text that agents chose can form no markup of either.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "report/compose.h"

namespace digd::report {

// Text and tables; each picture is replaced by its caption.
std::string to_markdown(const document& of);

// All numbers, unrounded: `format` "digd.report", `version` 1. docs/report.md has the members.
std::string to_json(const gathered& from, const std::vector<part>& parts, const document& document);

}  // namespace digd::report
