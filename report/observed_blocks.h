// What was observed, as sections, tables and facts of a report.
#pragma once

#include <vector>

#include <cstddef>
#include <string>
#include <vector>

#include "report/document.h"
#include "report/observed.h"

namespace digd::report {

std::vector<fact> facts_of(const observed& seen);
table flow_table(const observed& seen);
table agent_table(const observed& seen);
// The activations of each agent over time, what still waits at the end, and what else happened.
std::vector<block> course_blocks(const observed& seen);
// A detection with its sentence, its evidence, what its event said (`quote`; empty: not kept) and its witness.
block detection_block(const reported_detection& of, std::size_t number, const observed& seen, const std::string& quote);
// By rule: found, healed, and what became of the healed ones.
table rule_table(const observed& seen);

}  // namespace digd::report
