// The response of /v1/runs/ID/report: the observations of a stored run. Attribution is only in digctl's reports.
//
// Each step reads one piece of the trace, so that other requests run in between. Threads: any of the read pool's, one
// at a time. Bounds: those of report/compose.h. Failure: an HTTP error.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "archive/browser.h"
#include "archive/trace_source.h"
#include "base/ticket.h"
#include "daemon/http/responses.h"
#include "report/compose.h"

namespace digd::daemon {

enum class report_format : std::uint8_t { json, html, md, usage };  // usage: not a report, only what was used
std::optional<report_format> report_format_from(std::string_view name);

class report_response {
 public:
  static constexpr std::size_t max_at_once = 4, max_at_once_of_client = 3;

  // `place`: the connection holds it while the client waits. Once it is released, the next step ends the report.
  report_response(std::string archive_path, std::string run, report_format format, std::weak_ptr<counted_ticket> place)
      : path_(std::move(archive_path)), run_(std::move(run)), format_(format), place_(std::move(place)) {}

  // Makes the next step. Once `is_done`, the response is what the last step returned; earlier results are empty.
  http_response step(archive::browser& from);
  bool is_done() const { return done_; }

 private:
  http_response write();

  const std::string path_, run_;
  const report_format format_;
  const std::weak_ptr<counted_ticket> place_;
  std::optional<std::uint64_t> number_;
  std::unique_ptr<archive::trace_source> source_;
  report::gatherer gathers_;
  bool done_ = true;  // a step that throws leaves it true
};

}  // namespace digd::daemon
