// Simulated failed runs in the form that the logs of three frameworks have, each with one planted error: fake agents of
// a MetaGPT-like software company, an AG2-like group chat and a LangGraph-like supervisor graph. Besides the error a
// run contains decisions of its own, doubts and failures that are put right; nobody is to blame for those. Same seed,
// same run, on every machine.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "analysis/whowhen/dataset.h"

namespace digd::whowhen {

enum class log_style { metagpt, ag2, langgraph };
inline constexpr std::array<std::string_view, 3> log_styles{"metagpt-like", "ag2-like", "langgraph-like"};

// The style is the run's `subset`.
labelled_log planted_framework_run(log_style style, std::uint64_t seed);

}  // namespace digd::whowhen
