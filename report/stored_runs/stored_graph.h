// The recorded graph of a stored run, as /v1/runs/ID/graph and `digctl export` write it.
//
// Thread: any. Bounds: those of picture/export.h. Failure: `result`, and a sentence in `problem`.
#pragma once

#include <cstdint>
#include <string>

#include "report/picture/export.h"

namespace digd::stored {

struct stored_graph {
  enum class status : std::uint8_t { drawn, too_large, not_replayed, unreadable, deleted } result = status::drawn;
  std::string text, problem;
};

stored_graph draw_stored(const std::string& archive_path, std::uint64_t run_number, picture::graph_format format);

}  // namespace digd::stored
