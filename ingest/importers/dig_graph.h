// Graphs of the paper's Python library (`HappyEureka/dig`, JSON schema `dig.graph.v2`) into digd traces.
//
// The mapping both ways, field by field: docs/importers.md. Such a graph is a final state with time stamps. The
// importer restores the order of what happened. The messages and the counts show what it inferred.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "ingest/trace/import_result.h"

namespace digd::importers {

struct dig_graph_options {
  std::string run;                     // the run's id; empty: `dig-` and the graph's creation time or a hash
  std::size_t max_bytes = 512u << 20;  // of the file
  std::size_t max_items = 1'000'000;   // events and activations together
};

// Throws nothing. O(n log n) in the number of events, activations, links and stamps.
import_outcome import_dig_graph(std::string_view json_text, const dig_graph_options& options = {});

}  // namespace digd::importers
