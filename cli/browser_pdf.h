// A page as PDF, printed by a headless Chromium if there is one.
#pragma once

#include <string>

namespace digd::cli {

// The browser: $DIGD_BROWSER, else the first of the usual names on the path; empty: there is none.
std::string find_browser();

// Prints `html` to the file `pdf`, within a minute. The page's scripts run without network in a profile of their own,
// deleted afterwards. Empty if done, else why not.
std::string print_pdf(const std::string& html, const std::string& pdf);

}  // namespace digd::cli
