// A run on a terminal: time downwards, a lane for each agent, activations as bars, events as arrows between lanes.
//
// Deterministic: same model, same text. Lines fit `width` columns; the text of a finding is wrapped to it.
#pragma once

#include <cstddef>
#include <string>

#include "report/picture/model.h"
#include "report/picture/selection.h"

namespace digd::picture {

struct terminal_look {
  std::size_t width = 120;
  bool color = false;
  bool legend = true;
  bool words = false;  // shows the first words of payloads
};

std::string draw_terminal(const model& m, const selection& part, const terminal_look& look);

}  // namespace digd::picture
