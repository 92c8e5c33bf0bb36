// A run as a still picture: one self-contained SVG, readable in light and dark, by the colour-blind, and aloud.
//
// Lanes for agents, time downwards; activations as circles or spans, events as squares (DIG to Heal, Figure 2), dashed
// where no work was advanced. Deterministic. Any name is escaped; what XML cannot hold is U+FFFD.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "report/picture/model.h"
#include "report/picture/selection.h"

namespace digd::picture {

// What a picture highlights, such as a path through the graph. By index; each list is as long as the model's.
struct highlight {
  std::vector<bool> events, activations;
};

struct svg_look {
  // In a page, as `<svg class="run">`: only the graph and its legend, and wide enough to be read. The page has the
  // style (svg_style.h), the heading, the notes and the findings.
  bool embedded = false;
  std::string_view id = "picture";  // begins the ids in the picture
  const highlight* lit = nullptr;
};

std::string draw_svg(const model& m, const selection& part, const svg_look& look = {});

}  // namespace digd::picture
