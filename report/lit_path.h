// The lit path through the recorded graph: from the run's start, through the responsible agent or step, to the failure.
// It uses recorded edges only (DIG to Heal, section 4.1: source and input edges).
#pragma once

#include <string>
#include <vector>

#include "report/document.h"
#include "report/picture/model.h"
#include "report/picture/svg.h"

namespace digd::report {

struct lit_path {
  picture::highlight lit;
  struct stop {
    bool is_activation = false;
    std::string id, agent;  // agent: of an activation
  };
  std::vector<stop> stops;        // from the first cause to the last effect
  const detection* to = nullptr;  // the detection at its end
  const blamed* by = nullptr;     // the responsible place on it; null: none
};

// The path through the first suspect from which a detection descends; it ends at the first such detection. If no
// detection descends from a suspect, the path leads to the first detection that has one. `found` begins with the
// leading detection. Empty: no path in the model leads to a detection.
lit_path light(const picture::model& graph, const std::vector<const detection*>& found,
               const std::vector<blamed>& suspects);

}  // namespace digd::report
