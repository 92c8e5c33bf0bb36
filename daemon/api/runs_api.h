// What /v1/runs… answers with: the archive's runs, a run, its detections, its graph.
//
// Thread: the read pool's. Bounds: a page is `most_page` long; a graph has the bounds of picture/export.h.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "archive/browser.h"
#include "daemon/api/responses.h"
#include "picture/export.h"

namespace digd::daemon {

struct page_request {
  static constexpr std::uint64_t usual = 50, most = 500;
  std::uint64_t limit = usual;
  std::uint64_t cursor = 0;  // as `next` of the page before; 0: the first
};

http_response list_runs(archive::browser& from, const page_request& page);
http_response show_run(archive::browser& from, std::string_view run);
http_response list_detections(archive::browser& from, std::string_view run, const page_request& page);
http_response show_graph(archive::browser& from, const std::string& archive_path, std::string_view run,
                         picture::graph_format format);

}  // namespace digd::daemon
