// The culprit's path through the recorded graph: from where the run came from, by what is held responsible, to where
// it went wrong. Recorded edges only (DIG to Heal, section 4.1: source and input edges).
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
    std::string id, agent;  // of an activation: whose
  };
  std::vector<stop> stops;        // from the first cause to the last effect
  const detection* to = nullptr;  // what it leads to
  const blamed* by = nullptr;     // what is held responsible on it; null: nothing that is
};

// The path of the first suspect that a detection descends from, to the first such detection; without one, to the first
// detection. `found`: the leading one first. Empty if the model has none of it.
lit_path light(const picture::model& graph, const std::vector<const detection*>& found,
               const std::vector<blamed>& suspects);

}  // namespace digd::report
