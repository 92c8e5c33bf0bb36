// The verdict of a report: one sentence about the observations and one about the responsible agent or step.
#pragma once

#include <string>
#include <vector>

#include "report/document.h"
#include "report/observed.h"

namespace digd::report {

std::vector<std::string> verdict_of(const observed& seen, const std::vector<part>& parts);

}  // namespace digd::report
