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
#include "daemon/http/responses.h"
#include "daemon/http/connection.h"
#include "report/picture/export.h"

namespace digd::daemon {

struct page_request {
  static constexpr std::uint64_t usual = 50, most = 500;
  std::uint64_t limit = usual;
  std::uint64_t cursor = 0;  // as `next` of the page before; 0: the first
};

// Only of runs that `shows` says yes to: a page may be short, and not the last.
http_response list_runs(archive::browser& from, const page_request& page,
                        const std::function<bool(std::string_view run)>& shows);
http_response show_run(archive::browser& from, std::string_view run);
http_response list_detections(archive::browser& from, std::string_view run, const page_request& page);
http_response show_graph(archive::browser& from, const std::string& archive_path, std::string_view run,
                         picture::graph_format format);

// A run as a trace, a piece a call, as `in_pieces` (routes.h) wants them.
class trace_answer {
 public:
  static constexpr std::size_t most_at_once = 16;
  static constexpr std::string_view content_type = "application/jsonl; charset=utf-8";

  trace_answer(std::string archive_path, std::string run, connection_ticket ticket)
      : path_(std::move(archive_path)), run_(std::move(run)), ticket_(std::move(ticket)) {}
  http_response next(archive::browser& from);

 private:
  const std::string path_, run_;
  const connection_ticket ticket_;  // of those that are made at once
  std::unique_ptr<archive::trace_source> source_;
};

}  // namespace digd::daemon
