// A Who&When log: importers::import_whowhen, and a replay of the resulting trace.
#include "ingest/importers/whowhen.h"

#include "tests/fuzz/imported.h"

FUZZ_TARGET(whowhen) {
  digd::fuzz::check_import(digd::importers::import_whowhen(digd::fuzz::text_of(data, size), {.max_items = 2'000}));
  return 0;
}
