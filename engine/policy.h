// The settings of a run: the operator's defaults and caps, and what a client's `hello` asks for within them.
#pragma once

#include <optional>
#include <string>

#include "model/limit.h"
#include "model/settings.h"

namespace digd {

// The operator's configuration of runs: the defaults, and the most that `hello` may ask for.
struct run_policy {
  run_settings defaults;  // the catalog's
  mode strongest_mode = mode::enforce;
  limits caps;  // the largest limits that a hello may ask for

  run_policy();
};

// The settings a run starts with: those that `hello` asks for, as far as the policy allows them.
run_settings effective_settings(const hello& asked, const run_policy& policy);
// The mode that the welcome names: the weaker of the run's and the operator's; `off` once judging has stopped.
mode effective_mode(const run_settings& settings, std::optional<limit_id> unjudged);
// The first setting in which `asked` contradicts the run's; empty if none.
std::string contradiction(const hello& asked, const run_settings& settings, const run_policy& policy);

}  // namespace digd
