// Reduces a span to the attributes that the mapping reads, and writes spans as OTLP JSON. Pure; any thread.
#pragma once

#include <span>
#include <string>

#include "ingest/otlp/span.h"

namespace digd::otlp {

// Drops the attributes that no table reads, and all attributes of a span of no dialect. Without `texts` it also drops
// the texts of agents and of errors. The span maps to the same messages, except for their texts.
void keep_essential(span& s, bool texts);

// A request that decodes into these spans.
std::string encode_spans(std::span<const span> spans);

}  // namespace digd::otlp
