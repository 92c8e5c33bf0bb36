// A run's graph for Graphviz: events as boxes, activations as circles, a cluster for each agent. Any name is escaped.
#pragma once

#include <string>

#include "report/picture/model.h"
#include "report/picture/selection.h"

namespace digd::picture {

std::string draw_dot(const model& m, const selection& part);

}  // namespace digd::picture
