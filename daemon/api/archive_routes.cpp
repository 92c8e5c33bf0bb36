// The handlers that read the archive, and those that change a stored run.
#include <boost/beast/http/verb.hpp>
#include <memory>
#include <utility>

#include "base/unix_time.h"
#include "daemon/api/call.h"
#include "daemon/api/judgement.h"
#include "daemon/api/operator.h"
#include "daemon/api/read_pool.h"
#include "daemon/api/report_answer.h"
#include "daemon/api/runs_api.h"
#include "daemon/http/page_request.h"
#include "report/stored_runs/pilot.h"

namespace digd::daemon {

namespace http = boost::beast::http;

namespace {

// Each step gathers one piece of the run, so that a long run's report does not delay other requests.
void continue_report(read_pool& pool, const std::string& client, const std::shared_ptr<report_response>& report,
                     const response_callback& respond_to) {
  const auto work = [report](archive::browser& from) { return report->step(from); };
  const auto then = [&pool, client, report, respond_to](http_response&& response) {
    if (report->is_done()) {
      respond_to(std::move(response));
    } else {
      continue_report(pool, client, report, respond_to);
    }
  };
  if (!pool.submit(client, work, then, report_response::max_at_once)) respond_to(stopping());
}

routed make_report(call& in, report_format format) {
  if (in.services.archive == nullptr) return archive_off();
  archive_access& archive = *in.services.archive;
  ticket_ptr slot = archive.reports.take(client_of(in));
  if (!slot) return busy("too many reports are being written; try again");
  const auto report = std::make_shared<report_response>(archive.path, in.run, format, slot);
  const auto start = [&pool = archive.pool, client = client_of(in), report](const response_callback& respond_to) {
    continue_report(pool, client, report, respond_to);
  };
  return deferred_response{.start = start, .place = std::move(slot)};
}

routed get_run(call& in) {
  return read_archive(in, [run = in.run, homes = in.services.metrics.readiness.homes](archive::browser& from) {
    return show_run(from, run, homes);
  });
}

routed remove_run(call& in) {
  return deferred_response{[&runs = in.services.runs, run = in.run, by = caller_of(in)](
                               const response_callback& respond_to) { delete_run(runs, run, by, respond_to); }};
}

}  // namespace

routed get_runs(call& in) {
  if (in.services.view != nullptr) return ask_fleet(in, "runs");
  page_request page;
  if (auto no = take_page(in, page)) return std::move(*no);
  return read_archive(in, [page, grant = in.grant](archive::browser& from) {
    return list_runs(from, page, [&](std::string_view run) { return !grant || grant->covers(run); });
  });
}

routed get_detections(call& in) {
  page_request page;
  if (auto no = take_page(in, page)) return std::move(*no);
  return read_archive(in, [run = in.run, page](archive::browser& from) { return list_detections(from, run, page); });
}

routed get_graph(call& in) {
  const std::string* name = in.target.parameter("format");
  const auto format = picture::graph_format_from(name == nullptr ? std::string_view("json") : *name);
  if (!format) return bad_parameter("format", "expected json, dot, graphml or dig.graph.v2");
  if (in.services.archive == nullptr) return archive_off();
  const std::string& path = in.services.archive->path;
  return read_archive(in, [run = in.run, format = *format, &path](archive::browser& from) {
    return show_graph(from, path, run, format);
  });
}

routed get_trace(call& in) {
  if (in.services.archive == nullptr) return archive_off();
  if (in.request.version() < 11) {
    return respond_error(http::status::http_version_not_supported, "http_version",
                         "a trace is sent with HTTP/1.1 only");
  }
  archive_access& archive = *in.services.archive;
  ticket_ptr slot = archive.traces.take(client_of(in));
  if (!slot) return busy("too many traces are being sent; try again");
  const auto trace = std::make_shared<trace_response>(archive.path, in.run, std::move(slot));
  return chunked_response{[&pool = archive.pool, client = client_of(in), trace](const response_callback& respond_to) {
    // New requests that wait must not make digd refuse the next piece of a trace in progress.
    const auto work = [trace](archive::browser& from) { return trace->next(from); };
    if (!pool.submit(client, work, respond_to, trace_response::max_at_once)) respond_to(stopping());
  }};
}

routed get_report(call& in) {
  const std::string* name = in.target.parameter("format");
  const auto format = report_format_from(name == nullptr ? std::string_view("json") : *name);
  if (!format) return bad_parameter("format", "expected json, html or md");
  return make_report(in, *format);
}

routed get_usage(call& in) { return make_report(in, report_format::usage); }

routed get_or_delete_run(call& in) { return in.request.method() == http::verb::delete_ ? remove_run(in) : get_run(in); }

routed get_pilot(call& in) {
  const std::string* since = in.target.parameter("since");
  const auto span =
      stored::duration_ms(since == nullptr ? stored::pilot_request::usual_since : std::string_view(*since));
  if (!span) return bad_parameter("since", "expected a time span as 90m, 36h, 7d or 4w");
  return read_archive(in, [span = *span, grant = in.grant](archive::browser& from) {
    const std::int64_t now = unix_ms();
    stored::pilot_request asked{.since_ms = std::max<std::int64_t>(now - span, 0), .now_ms = now, .shows = {}};
    if (grant) asked.shows = [&](std::string_view run) { return grant->covers(run); };
    auto text = stored::pilot_json(from, asked);
    if (text) return respond_json(std::move(*text));
    return archive_unreadable(text.error().message());
  });
}

routed post_judgement(call& in) {
  if (in.services.archive == nullptr) return archive_off();
  auto read =
      read_judgement(in.run, in.detection, in.body, in.grant ? std::string_view(in.grant->name()) : std::string_view());
  if (auto* no = std::get_if<http_response>(&read)) return std::move(*no);
  auto request = std::get<judgement_request>(std::move(read));
  return deferred_response{[&runs = in.services.runs, reads = reads_of(in), request = std::move(request)](
                               const response_callback& respond_to) { judge(reads, runs, request, respond_to); }};
}

}  // namespace digd::daemon
