// The report of a stored run, as /v1/runs/ID/report answers: what was observed, without attribution, which is digctl's.
//
// Made in steps of a piece of the trace each, so that other requests get their turn between them. Threads: one at a
// time, any of the read pool's. Bounds: those of report/compose.h. Failure: an HTTP error.
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

enum class report_format : std::uint8_t { json, html, md };
std::optional<report_format> report_format_from(std::string_view name);

class report_response {
 public:
  static constexpr std::size_t max_at_once = 4;

  report_response(std::string archive_path, std::string run, report_format format, ticket_ptr ticket)
      : path_(std::move(archive_path)), run_(std::move(run)), format_(format), ticket_(std::move(ticket)) {}

  // The next step. What it returns counts once `is_done`.
  http_response step(archive::browser& from);
  bool is_done() const { return done_; }

 private:
  http_response write();

  const std::string path_, run_;
  const report_format format_;
  const ticket_ptr ticket_;  // of those that are made at once
  std::optional<std::uint64_t> number_;
  std::unique_ptr<archive::trace_source> source_;
  report::gatherer gathers_;
  bool done_ = true;  // also where a step ends with an exception
};

}  // namespace digd::daemon
