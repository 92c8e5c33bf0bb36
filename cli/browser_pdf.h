// Prints a page as PDF with a headless Chromium, if one is installed.
#pragma once

#include <string>

namespace digd::cli {

// The browser: $DIGD_BROWSER, else the first usual name on the path. Empty: none found.
std::string find_browser();

// Prints `html` to the file `pdf`, within a minute. The page's scripts run without network in a profile of their own,
// deleted afterwards. Returns an error sentence; empty on success.
std::string print_pdf(const std::string& html, const std::string& pdf);

}  // namespace digd::cli
