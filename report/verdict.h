// The verdict of a report: two sentences, of what was observed and what was found responsible.
#pragma once

#include <string>
#include <vector>

#include "report/document.h"
#include "report/observed.h"

namespace digd::report {

std::vector<std::string> verdict_of(const observed& seen, const std::vector<part>& parts);

}  // namespace digd::report
