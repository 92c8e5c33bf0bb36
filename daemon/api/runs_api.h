// What /v1/runs… answers with: the archive's runs, a run, its detections, its graph, its trace.
//
// Thread: the read pool's. Bounds: a page is `most_page` long; a graph has the bounds of picture/export.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "archive/browser.h"
#include "archive/trace_source.h"
#include "base/ticket.h"
#include "daemon/http/page_request.h"
#include "daemon/http/responses.h"
#include "report/picture/export.h"

namespace digd::daemon {

// Only of runs that `shows` says yes to: a page may be short, and not the last.
http_response list_runs(archive::browser& from, const page_request& page,
                        const std::function<bool(std::string_view run)>& shows);
http_response show_run(archive::browser& from, std::string_view run);
http_response list_detections(archive::browser& from, std::string_view run, const page_request& page);
http_response show_graph(archive::browser& from, const std::string& archive_path, std::string_view run,
                         picture::graph_format format);

// A run as a trace, a piece a call, as `in_pieces` (routes.h) wants them.
class trace_response {
 public:
  static constexpr std::size_t max_at_once = 16;
  static constexpr std::string_view content_type = "application/jsonl; charset=utf-8";

  trace_response(std::string archive_path, std::string run, ticket_ptr ticket)
      : path_(std::move(archive_path)), run_(std::move(run)), ticket_(std::move(ticket)) {}
  http_response next(archive::browser& from);

 private:
  const std::string path_, run_;
  const ticket_ptr ticket_;  // of those that are made at once
  std::unique_ptr<archive::trace_source> source_;
};

}  // namespace digd::daemon
