// Files of recorded spans into trace files, for `digctl import otlp`. No I/O; never throws.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ingest/otlp/span.h"
#include "ingest/trace/import_result.h"

namespace digd::otlp {

struct import_options {
  std::string run;                     // the id of the only run; empty: made from the trace's
  std::size_t max_bytes = 256u << 20;  // of a file, packed and unpacked
};

// Reads a file of an exporter or the collector: an ExportTraceServiceRequest as JSON, several as lines of JSON, or one
// in protobuf, each packed with gzip or not. Adds its spans; `rejected` counts invalid ones.
struct read_file_result {
  std::string problem;  // the fault that ended the reading, and its place; empty: none
  std::size_t rejected = 0;
  std::string first_rejection;    // its place, the field, the expected value; empty if none
  std::size_t dropped_links = 0;  // beyond `max_links` of a span
};
read_file_result read_spans(std::string_view file, const import_options& options, std::vector<span>& into);

// The runs in the spans that have agents. Their `hello` has `mode: observe` and `clock: trace`.
struct imported_run {
  std::string id;
  importers::import_result trace;
};
using import_outcome = boost::system::result<std::vector<imported_run>, importers::import_failure>;
import_outcome import_spans(std::vector<span>&& spans, const import_options& options = {});

}  // namespace digd::otlp
