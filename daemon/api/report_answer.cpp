#include "daemon/api/report_answer.h"

#include <utility>

#include "report/html.h"
#include "report/text.h"

namespace digd::daemon {

namespace {

using boost::beast::http::status;

http_response unreadable(const boost::system::error_code& ec, std::string_view run) {
  if (ec == archive::make_error_code(archive::archive_error::run_deleted)) return no_such_run(run);
  return archive_unreadable(ec.message());
}

}  // namespace

std::optional<report_format> report_format_from(std::string_view name) {
  if (name == "json") return report_format::json;
  if (name == "html") return report_format::html;
  if (name == "md") return report_format::md;
  return std::nullopt;
}

http_response report_response::step(archive::browser& from) {
  done_ = true;  // until this step has succeeded
  if (place_.expired()) return respond_nothing();
  if (!number_) {
    const auto found = from.find(run_);
    if (!found) return unreadable(found.error(), run_);
    if (!*found) return no_such_run(run_);
    number_ = (*found)->number;
  }
  if (!source_) {
    auto opened = archive::trace_source::open(path_, *number_);
    if (!opened) return unreadable(opened.error(), run_);
    source_ = std::move(*opened);
  }
  const auto piece = source_->next();
  if (!piece) return unreadable(piece.error(), run_);
  bool more = !piece->empty();
  for (std::size_t at = 0; more && at < piece->size();) {
    const std::size_t end = piece->find('\n', at);
    more = gathers_.line(std::string_view(*piece).substr(at, end - at));
    at = end + 1;
  }
  if (!more) {
    source_.reset();
    if (!gathers_.pass_again() || format_ == report_format::usage) return write();
  }
  done_ = false;
  return {};
}

http_response report_response::write() {
  const report::gathered from = gathers_.finish();
  if (!from.problem.empty()) {
    return respond_error(status::internal_server_error, "not_replayed", "the run cannot be replayed: " + from.problem);
  }
  if (format_ == report_format::usage) {
    const report::observed& seen = from.seen;
    return respond_json(report::usage_json(run_, seen.clock, seen.time, seen.usage) + '\n');
  }
  const std::string subject = report::on_command_line(run_);
  const std::vector<report::part> parts = report::not_run(subject, "the daemon runs no attribution.");
  const report::document document = report::compose(from, parts, subject);
  if (format_ == report_format::json) return respond_json(report::to_json(from, parts, document));
  if (format_ == report_format::md)
    return respond(status::ok, "text/markdown; charset=utf-8", report::to_markdown(document));
  http_response page = respond(status::ok, "text/html; charset=utf-8", report::to_html(document));
  page.set("Content-Security-Policy", report::content_security_policy() + "; frame-ancestors 'none'");
  page.set("Referrer-Policy", "no-referrer");
  return page;
}

}  // namespace digd::daemon
