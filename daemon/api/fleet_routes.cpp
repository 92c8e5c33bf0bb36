// The handlers of a viewer: digd with `fleet.view`. Python's digd.fleet answers what concerns all runs; a request about
// one run waits until the temporary archive has it, and is then answered from there.
#include <memory>
#include <utility>

#include "daemon/api/call.h"
#include "daemon/fleet/view/fleet_view.h"
#include "daemon/metrics/prometheus.h"

namespace digd::daemon {

namespace {

namespace http = boost::beast::http;

constexpr std::size_t max_parameters = 16, max_parameter_bytes = 1'000;

http_response no_view() {
  return respond_error(http::status::not_found, "not_found", "this digd shows no fleet; see fleet.view");
}

std::optional<http_response> refuse_some_runs(const call& in, std::string_view run) {
  if (!in.grant || in.grant->covers_all_runs()) return std::nullopt;
  // ID~ARCHIVE-NUMBER names a run by more than its id, which is what a token covers.
  if (!run.empty() && run.find('~') == run.npos) return std::nullopt;
  return respond_error(http::status::forbidden, "forbidden",
                       "the token is for some runs, and this request is about all runs of the fleet");
}

}  // namespace

routed ask_fleet(call& in, std::string_view question) {
  if (in.services.view == nullptr) return no_view();
  if (auto no = refuse_some_runs(in, {})) return std::move(*no);
  if (in.target.query.size() > max_parameters) return bad_parameter("query", "expected at most 16 parameters");
  for (const auto& [name, value] : in.target.query) {
    if (name.size() + value.size() > max_parameter_bytes) return bad_parameter(name, "expected at most 1000 bytes");
  }
  return deferred_response{[view = in.services.view, question = std::string(question), given = in.target.query](
                               const response_callback& respond_to) { view->ask(question, given, respond_to); }};
}

routed get_fleet(call& in) { return ask_fleet(in, "fleet"); }
routed get_fleet_runs(call& in) { return ask_fleet(in, "runs"); }

routed once_opened(call& in, routed&& answer) {
  if (auto no = refuse_some_runs(in, in.run)) return std::move(*no);
  const auto open_first = [view = in.services.view, run = in.run](auto&& serve) {
    return [view, run, serve = std::forward<decltype(serve)>(serve)](const response_callback& respond_to) {
      view->open(run, [serve, respond_to](std::optional<http_response> refused) {
        refused ? respond_to(std::move(*refused)) : serve(respond_to);
      });
    };
  };
  if (auto* deferred = std::get_if<deferred_response>(&answer)) {
    return deferred_response{open_first(std::move(deferred->start)), std::move(deferred->place)};
  }
  if (auto* chunked = std::get_if<chunked_response>(&answer)) {
    return chunked_response{open_first(std::move(chunked->next))};
  }
  return std::move(answer);
}

std::optional<http_response> open_for_feed(const call& in, const std::optional<std::string>& run) {
  if (in.services.view == nullptr || !run) return std::nullopt;
  if (auto no = refuse_some_runs(in, *run)) return no;
  // The feed begins at once and shows the rows when they are there.
  in.services.view->open(*run, [](const std::optional<http_response>&) {});
  return std::nullopt;
}

std::string view_metrics(const fleet_view& view) {
  const fleet_view_counts& counts = view.counted();
  prometheus_text out;
  out.counter("digd_view_questions_total", "Questions about the fleet that were answered.", counts.questions.load());
  out.counter("digd_view_refused_total", "Questions refused: too many waited, or nobody could answer.",
              counts.refused.load());
  out.counter("digd_view_restarts_total", "Times that digd.fleet was started again.", counts.restarts.load());
  out.counter("digd_view_rows_total", "Rows of opened runs in the temporary archive so far.", counts.rows.load());
  out.counter("digd_view_evicted_total", "Opened runs that left it for others.", counts.evicted.load());
  out.gauge("digd_view_runs", "Runs in the temporary archive.", counts.runs.load());
  return out.take();
}

}  // namespace digd::daemon
