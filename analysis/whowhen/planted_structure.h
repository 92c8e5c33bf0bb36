// Simulated runs whose structure has one planted failure, for the structure game: a planner splits a task among
// workers, some of them ask a helper, and a writer may write the answer. Besides its one fault a run may contain work
// that waits for other work, a failed attempt that is repeated, a rejected hand-over and log lines. Nobody is to blame
// for those. Same seed, same run, on every machine.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "model/rule_id.h"

namespace digd::whowhen {

struct planted_trace {
  std::string trace;            // JSON lines
  std::string activation;       // the planted one; empty in a clean run
  std::string agent;            // its agent
  std::size_t activations = 0;  // in the run
};

// The failures that `plant_structure` can plant, in the order of the catalog.
inline constexpr std::array planted_rules{rule_id::early_termination,   rule_id::orphaned_event,
                                          rule_id::excessive_rerouting, rule_id::cross_lineage_aggregation,
                                          rule_id::repeated_subproblem, rule_id::deadlock,
                                          rule_id::missing_termination};

// `rule`: the failure, of `planted_rules`; none: a clean run.
planted_trace plant_structure(std::optional<rule_id> rule, std::uint64_t seed);

}  // namespace digd::whowhen
