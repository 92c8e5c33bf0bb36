// Spans into what a multi-agent system would have told of itself: the messages of a run.
//
// Pure: no I/O, no clock, no state; any thread; throws nothing but for lack of memory. The order in which spans came,
// and spans that came twice, make no difference to the messages. docs/otlp.md has the table of what becomes what.
#pragma once

#include <boost/json/object.hpp>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ingest/importers/import_result.h"
#include "ingest/otlp/span.h"

namespace digd::otlp {

// A message without its `type`, `seq` and `ts`, which whoever tells it adds.
struct story_message {
  std::string_view type;  // event, activation_started, activation_ended
  std::int64_t ts_ms = 0;
  boost::json::object members;
};

struct story {
  std::vector<story_message> messages;  // in the order to be told; times do not go back
  importers::import_counts counts;      // but `messages`
  boost::json::object labels;
  bool whole = true;    // every parent that a span names is here
  bool failed = false;  // a span without a parent has failed
};

// What is known of the future of the spans.
enum class more : std::uint8_t {
  may_come,  // what ends a run is kept back: turns of which nobody is known to have read
  is_over,   // this is all
};

// All spans of one run, from however many traces. No turns in them: no messages.
story tell(std::span<const span> spans, more what);

}  // namespace digd::otlp
