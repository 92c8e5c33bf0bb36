// A graph of the paper's library: importers::import_dig_graph, and a replay of the resulting trace.
#include "ingest/importers/dig_graph.h"

#include "tests/fuzz/imported.h"

FUZZ_TARGET(dig_graph) {
  digd::fuzz::check_import(digd::importers::import_dig_graph(digd::fuzz::text_of(data, size), {.max_items = 2'000}));
  return 0;
}
