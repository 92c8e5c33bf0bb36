// Writes a report as one self-contained HTML page: it includes its style, pictures and a short script. Its content
// security policy forbids everything from outside.
#pragma once

#include <string>
#include <string_view>

#include "report/document.h"

namespace digd::report {

std::string to_html(const document& of);

// The page's content security policy; also for the header of an HTTP response.
std::string content_security_policy();

}  // namespace digd::report
