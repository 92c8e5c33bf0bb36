// Of a span, what the mapping reads; and that written down again as OTLP JSON. Pure; any thread.
#pragma once

#include <span>
#include <string>

#include "ingest/otlp/span.h"

namespace digd::otlp {

// Drops the attributes that no table asks for, and all of a span of no dialect. Without `texts` also what agents said
// and why they failed. What is told of the span stays the same, but for the texts.
void keep_essential(span& s, bool texts);

// A request that decodes into these spans.
std::string encode_spans(std::span<const span> spans);

}  // namespace digd::otlp
