// The tokens of spans that are calls of language models, as the protocol's `usage`. Pure functions.
#pragma once

#include <boost/json/object.hpp>
#include <cstddef>
#include <span>
#include <string_view>

#include "ingest/otlp/span.h"

namespace digd::otlp {

inline constexpr std::size_t max_models = 32;  // named in one usage; tokens of further models count without a name

// The attributes that `usage_of` reads.
std::span<const std::string_view> usage_keys();

// Empty without spans. `tools`: how many calls of tools belong to it.
boost::json::object usage_of(std::span<const span* const> model_spans, std::size_t tools);

}  // namespace digd::otlp
