// Graphs of the paper's Python library (`HappyEureka/dig`, JSON schema `dig.graph.v2`) into digd traces.
//
// The mapping both ways, field by field: docs/importers.md. A graph is a state with a log of time stamps in
// it; the importer puts what happened back into order and says, in the messages and the counts, what it had
// to infer.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "ingest/importers/import_result.h"

namespace digd::importers {

struct dig_graph_options {
  std::string run;                     // the run's id; empty: `dig-` and the graph's creation time or a hash
  std::size_t max_bytes = 512u << 20;  // of the file
  std::size_t max_items = 1'000'000;   // events and activations together
};

// Never throws. O(n log n) in the number of events, activations, links and stamps.
import_outcome import_dig_graph(std::string_view json_text, const dig_graph_options& options = {});

}  // namespace digd::importers
