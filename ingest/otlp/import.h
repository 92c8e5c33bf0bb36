// Files of recorded spans into trace files: what `digctl import otlp` does. No I/O; never throws.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ingest/importers/import_result.h"
#include "ingest/otlp/span.h"

namespace digd::otlp {

struct import_options {
  std::string run;                     // the id of the one run there is; empty: made from the trace's
  std::size_t max_bytes = 256u << 20;  // of a file, and of what a packed one unpacks into
};

// A file as exporters and the collector write them: an ExportTraceServiceRequest as JSON, several as lines of JSON, or
// one in protobuf; any of them packed with gzip. Adds its spans; `rejected` counts those that were none.
struct read_file_result {
  std::string problem;  // what is wrong with the file, and where; empty if nothing
  std::size_t rejected = 0;
  std::string why;  // of the first rejected
};
read_file_result read_spans(std::string_view file, const import_options& how, std::vector<span>& into);

// The runs in the spans, a trace each, those without agents left out. `hello` says `mode: observe`, `clock: trace`.
struct imported_run {
  std::string id;
  importers::import_result trace;
};
using import_outcome = boost::system::result<std::vector<imported_run>, importers::import_failure>;
import_outcome import_spans(std::vector<span>&& spans, const import_options& how = {});

}  // namespace digd::otlp
