// Adds reported usage to the sums of a run. Internal to the archive's writers.
#pragma once

#include <algorithm>
#include <cstdint>

#include "archive/sqlite.h"
#include "model/message.h"

namespace digd::archive {

// Sums are capped here: even twice this number fits an SQLite integer.
inline constexpr std::uint64_t max_usage_sum = std::uint64_t{1} << 61;

// Runs `add`, whose parameters are the run, the five amounts and the largest sum.
inline failure store_usage(statement& add, std::int64_t run_number, const usage_amounts& used) {
  add.bind(1, run_number);
  int at = 1;
  for (const std::uint64_t amount :
       {used.input_tokens, used.output_tokens, used.cost, used.model_calls, used.tool_calls}) {
    add.bind(++at, std::min(amount, max_usage_sum));
  }
  add.bind(7, max_usage_sum);
  return add.run();
}

}  // namespace digd::archive
