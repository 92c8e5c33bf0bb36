// Checks of every import: it fails with a reason, or gives a trace that the engine replays without a refusal.
#pragma once

#include "ingest/protocol/replay.h"
#include "ingest/trace/import_result.h"
#include "tests/fuzz/target.h"

namespace digd::fuzz {

inline void check_import(const importers::import_outcome& outcome) {
  if (outcome.has_error()) {
    must(outcome.error().code != importers::import_errc::internal, "an importer has no internal error",
         outcome.error().message);
    return must(!outcome.error().message.empty(), "a failed import has a reason");
  }
  std::string problem;
  ingest::replay through(run_policy{}, {.record = [&](const ingest::record& record) {
                           if (record.answer.refused) problem = record.answer.refused.text;
                         }});
  for (const std::string& line : outcome->lines) {
    must(through.line(line), "an imported trace can be replayed", through.problem());
    must(problem.empty(), "the engine refuses no message of an imported trace", problem + "\n" + line);
  }
}

}  // namespace digd::fuzz
