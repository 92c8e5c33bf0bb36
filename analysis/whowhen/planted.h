// A small simulated domain with planted faults, where the truth is exact: a desk adds up readings from a sheet. A
// planner instructs readers, a calculator and a writer, or all talk to all. Besides its one fault, a run may have
// slips that are put right, which nobody is to be blamed for. Same seed, same run, on every machine.
#pragma once

#include <cstdint>
#include <string_view>

#include "analysis/whowhen/dataset.h"

namespace digd::whowhen {

enum class fault {
  misread,          // a reader says another number than the sheet gave
  invent,           // the sheet could not be read, and a reader gives a number all the same
  miscopy,          // the calculator works with another number than it was given
  miscompute,       // the calculator adds up wrongly
  misreport,        // the writer answers another number than was computed
  wrong_item,       // the planner asks for what nobody wanted
  planner_repeats,  // the planner repeats an instruction that had failed
  executor_fails,   // the planner tries other ways, the reader keeps failing
};
inline constexpr std::size_t faults = 8;
std::string_view to_string(fault);

// The fault is the run's `subset`.
labelled_log planted_run(std::uint64_t seed);

}  // namespace digd::whowhen
