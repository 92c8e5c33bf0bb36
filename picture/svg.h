// A run as a still picture: one self-contained SVG, readable in light and dark, by the colour-blind, and aloud.
//
// Lanes for agents, time downwards; activations as circles or spans, events as squares (DIG to Heal, Figure 2), dashed
// where no work was advanced. Deterministic. Any name is escaped; what XML cannot hold is U+FFFD.
#pragma once

#include <string>

#include "picture/model.h"
#include "picture/selection.h"

namespace digd::picture {

std::string draw_svg(const model& m, const selection& part);

}  // namespace digd::picture
