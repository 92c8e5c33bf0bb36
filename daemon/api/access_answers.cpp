#include "daemon/api/access_answers.h"

#include <spdlog/spdlog.h>

#include <chrono>
#include <string>
#include <utility>
#include <variant>

#include "base/log_rate_limit.h"
#include "base/quote.h"

namespace digd::daemon {

namespace {

namespace http = boost::beast::http;

// Without the query, which may hold the signature of a link.
std::string_view path_of(const call& in) {
  const std::string_view target = in.request.target();
  return target.substr(0, target.find('?'));
}

audited_request line_of(const call& in) {
  return {.action = std::string(in.request.method_string()) + ' ' + std::string(path_of(in)),
          .by = caller_of(in),
          .from = in.from->name,
          .body = std::string(in.body.substr(0, audit_log::max_text_bytes))};
}

// Allows at most ten lines a second for each thread, so that guessing tokens or links cannot fill the disk. Sets
// `suppressed` to the number of lines left out before an allowed one.
bool may_log_refusal(std::uint64_t& suppressed) {
  constexpr std::uint64_t max_lines_a_second = 10;
  thread_local log_rate_limit limit(max_lines_a_second);
  return limit.allows(suppressed);
}

// Never logs the token itself.
void log_refusal(const call& in, const std::string& problem) {
  audited_request line = line_of(in);
  if (!may_log_refusal(line.suppressed)) return;
  spdlog::warn("access_refused from={} method={} target={} reason={} suppressed={}", digd::quoted(in.from->name),
               std::string_view(in.request.method_string()), digd::quoted(path_of(in)), digd::quoted(problem),
               line.suppressed);
  line.problem = problem;
  in.services.admission.audit.write_refusal(std::move(line), in.grant ? 403 : 401);
}

using line_writer = void (*)(audit_log& to, audited_request&& line, unsigned status);

void write_change(audit_log& to, audited_request&& line, unsigned status) { to.write(line, status); }

// Anyone can send an invalid or a used link, so a failed decision counts as a refusal.
void write_decision(audit_log& to, audited_request&& line, unsigned status) {
  if (http::to_status_class(status) == http::status_class::successful) return to.write(line, status);
  if (may_log_refusal(line.suppressed)) to.write_refusal(std::move(line), status);
}

// Writes the line once the answer is known.
routed audited_by(line_writer write, const call& in, routed&& result) {
  audit_log& log = in.services.admission.audit;
  audited_request line = line_of(in);
  if (const auto* response = std::get_if<http_response>(&result)) write(log, std::move(line), response->result_int());
  auto* deferred = std::get_if<deferred_response>(&result);
  if (deferred == nullptr) return std::move(result);
  return deferred_response{
      [&log, write, line = std::move(line), start = std::move(deferred->start)](const response_callback& respond_to) {
        start([&log, write, line, respond_to](http_response&& response) {
          write(log, audited_request(line), response.result_int());
          respond_to(std::move(response));
        });
      },
      std::move(deferred->place)};
}

// Closes the connection, so that each guess at a token needs a new connection.
http_response refuse_token(const call& in, const std::string& problem) {
  in.services.admission.connections.tokens_refused.fetch_add(1);
  const bool is_too_often = in.from->refusals.take(std::chrono::steady_clock::now()).count() > 0;
  http_response response = is_too_often ? too_many("too many requests with unknown tokens; wait a second")
                                        : respond_error(http::status::unauthorized, "unauthorized", problem);
  if (!is_too_often) response.set(http::field::www_authenticate, "Bearer");
  response.keep_alive(false);
  return response;
}

}  // namespace

http_response refuse_access(const call& in, const std::string& problem) {
  log_refusal(in, problem);
  return in.grant ? respond_error(http::status::forbidden, "forbidden", problem) : refuse_token(in, problem);
}

routed audited(const call& in, routed&& result) { return audited_by(write_change, in, std::move(result)); }

routed audited_decision(const call& in, routed&& result) { return audited_by(write_decision, in, std::move(result)); }

}  // namespace digd::daemon
