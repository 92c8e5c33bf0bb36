// A report as one HTML page that asks for nothing else: style, pictures and a few lines of script are in it, and its
// content security policy forbids everything from elsewhere.
#pragma once

#include <string>
#include <string_view>

#include "report/document.h"

namespace digd::report {

std::string to_html(const document& of);

// What a browser may do with the page; also for the header of an HTTP answer.
std::string content_security_policy();

}  // namespace digd::report
