// Responses of /v1/runs…: the archive's runs, one run, its detections, graph and trace.
//
// Thread: the read pool's. Bounds: those of page_request.h; a graph has the bounds of report/picture/export.h.
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

class home_keeper;

// Lists only runs that `shows` accepts: a page may be short without being the last.
http_response list_runs(archive::browser& from, const page_request& page,
                        const std::function<bool(std::string_view run)>& shows);
// `homes`: to add the run's home in the fleet; null: runs have no homes.
http_response show_run(archive::browser& from, const std::string& run, const home_keeper* homes);
http_response list_detections(archive::browser& from, std::string_view run, const page_request& page);
http_response show_graph(archive::browser& from, const std::string& archive_path, std::string_view run,
                         picture::graph_format format);

// A run as a trace, one piece a call, for `chunked_response` (http/request_handler.h).
class trace_response {
 public:
  static constexpr std::size_t max_at_once = 16, max_at_once_of_client = 12;
  static constexpr std::string_view content_type = "application/jsonl; charset=utf-8";

  trace_response(std::string archive_path, std::string run, ticket_ptr ticket)
      : path_(std::move(archive_path)), run_(std::move(run)), ticket_(std::move(ticket)) {}
  http_response next(archive::browser& from);

 private:
  const std::string path_, run_;
  const ticket_ptr ticket_;  // of the responses in progress
  std::unique_ptr<archive::trace_source> source_;
};

}  // namespace digd::daemon
