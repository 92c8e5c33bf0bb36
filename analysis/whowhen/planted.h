// Simulated runs with planted faults, where the truth is exact: a team adds up readings from a sheet. A planner
// instructs readers, a calculator and a writer, or all talk to all. Besides its one fault a run may contain slips that
// are corrected, for which nobody is to blame. Same seed, same run, on every machine.
#pragma once

#include <cstdint>
#include <string_view>

#include "analysis/whowhen/dataset.h"

namespace digd::whowhen {

enum class fault {
  misread,          // a reader reports another number than the sheet
  invent,           // the sheet cannot be read, but a reader reports a number
  miscopy,          // the calculator works with another number than it was given
  miscompute,       // the calculator adds up wrongly
  misreport,        // the writer reports another number than was computed
  wrong_item,       // the planner asks for an item that is not part of the task
  planner_repeats,  // the planner repeats a failed instruction
  executor_fails,   // the planner changes its instructions, the reader keeps failing
};
inline constexpr std::size_t faults = 8;
std::string_view to_string(fault);

// The fault is the run's `subset`.
labelled_log planted_run(std::uint64_t seed);

}  // namespace digd::whowhen
