// Maps the spans of a run to messages, as a client of the multi-agent system would have sent them.
//
// Pure: no I/O, no clock, no state; any thread; only lack of memory throws. Neither the order of the spans nor
// duplicates change the messages. docs/otlp.md has the table of the mapping.
#pragma once

#include <boost/json/object.hpp>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ingest/otlp/span.h"
#include "ingest/trace/import_result.h"

namespace digd::otlp {

// A message without its `type`, `seq` and `ts`, which the sender adds.
struct run_message {
  std::string_view type;  // event, activation_started, activation_ended
  std::int64_t ts_ms = 0;
  boost::json::object members;
};

struct mapped_run {
  std::vector<run_message> messages;  // in the order to send them; times do not go back
  importers::import_counts counts;    // but `messages`
  boost::json::object labels;
  bool whole = true;         // every parent that a span names is here
  std::string_view outcome;  // for `run_ended`, if nothing more comes
};

// Whether more spans may come.
enum class span_set : std::uint8_t {
  partial,  // turns do not end yet if no reader of their output is known
  complete,
};

// All spans of one run, from however many traces. Spans without turns give no messages.
mapped_run map_spans(std::span<const span> spans, span_set known);

// The `rules` of a hello for runs made of spans. Spans do not show what happened between two turns, and a later turn
// proves that the run had not stopped. So the rules that judge by time report only at the end.
boost::json::object rules_for_spans();

}  // namespace digd::otlp
