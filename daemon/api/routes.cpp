#include "daemon/api/routes.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <array>
#include <boost/beast/websocket/rfc6455.hpp>
#include <boost/json/parse.hpp>
#include <limits>
#include <optional>
#include <utility>

#include "base/json_writer.h"
#include "base/quote.h"
#include "daemon/api/access_answers.h"
#include "daemon/api/call.h"
#include "daemon/api/health.h"
#include "daemon/api/holds.h"
#include "daemon/api/operator.h"
#include "daemon/attribution/attribution_worker.h"
#include "daemon/dashboard/page.h"
#include "daemon/feed/feed_server.h"
#include "daemon/hooks/hooks_api.h"
#include "daemon/http/page_request.h"
#include "daemon/metrics/prometheus.h"
#include "daemon/search/search_indexer.h"
#include "daemon/webhook/webhook_api.h"
#include "mcp/server.h"

namespace digd::daemon {

namespace {

namespace http = boost::beast::http;
namespace json = boost::json;

std::optional<http_response> refuse_untrusted(const net::upgrade_request& request, const trusted_names& trusted,
                                              const peer& from) {
  if (from.is_user && request.count(http::field::origin) == 0) return std::nullopt;  // no web page: a Unix socket
  const std::string_view host = request[http::field::host];
  if (!trusted.is_trusted_host(host, from.is_user)) {
    return respond_error(http::status::forbidden, "host", "Host is not this host; see `hosts` in digd.toml");
  }
  const auto origin = request.find(http::field::origin);
  if (origin != request.end() && !trusted.is_trusted_origin(origin->value(), host, from.is_user)) {
    return respond_error(http::status::forbidden, "origin", "Origin is not this host; see `origins` in digd.toml");
  }
  return std::nullopt;
}

// ---- WebSockets

std::optional<http_response> refuse_upgrade(const net::upgrade_request& request, std::string_view subprotocol) {
  if (!boost::beast::websocket::is_upgrade(request)) {
    http_response response = respond_error(http::status::upgrade_required, "websocket", "this is a WebSocket");
    response.set(http::field::upgrade, "websocket");
    response.set(http::field::connection, "Upgrade, close");
    return response;
  }
  if (!names_token(request[http::field::sec_websocket_protocol], subprotocol)) {
    return respond_error(http::status::bad_request, "subprotocol", "offer the subprotocol " + std::string(subprotocol));
  }
  return std::nullopt;
}

std::optional<http_response> take_switch(const call& in, std::string_view name, bool& on) {
  const std::string* given = in.target.parameter(name);
  if (given == nullptr) return std::nullopt;
  if (*given != "0" && *given != "1") return bad_parameter(name, "expected 0 or 1");
  on = *given == "1";
  return std::nullopt;
}

http_response too_many_of_token(call& in) {
  in.services.admission.connections.refused_of_token.fetch_add(1);
  return too_many("the token " + digd::quoted(in.grant->name()) + " has reached its max_connections");
}

routed open_ingest(call& in) {
  if (auto no = refuse_upgrade(in.request, ingest_subprotocol)) return std::move(*no);
  to_ingest to;
  if (auto no = take_run_parameter(in, to.run)) return std::move(*no);
  if (in.grant && !(to.counted = in.grant->take_connection())) return too_many_of_token(in);
  to.grant = in.grant;
  return to;
}

routed open_feed(call& in) {
  if (auto no = refuse_upgrade(in.request, feed_subprotocol)) return std::move(*no);
  to_feed to;
  if (auto no = take_run_parameter(in, to.request.run)) return std::move(*no);
  to.request.grant = in.grant;
  if (const std::string* since = in.target.parameter("since")) {
    const auto seq = whole_number(*since);
    if (!seq || *seq > std::numeric_limits<std::int64_t>::max()) {
      return bad_parameter("since", "expected the `seq` of a feed frame, a whole number");
    }
    to.request.since = static_cast<std::int64_t>(*seq);
  }
  if (auto no = take_switch(in, "payloads", to.request.payloads)) return std::move(*no);
  if (auto no = take_switch(in, "batch", to.request.batch)) return std::move(*no);
  if (in.services.feed == nullptr) return archive_off();
  to.request.place = in.services.feed->take_place(client_of(in));
  if (!to.request.place) return busy("the feed, or this client, has its maximum number of readers");
  if (in.grant && !(to.request.counted = in.grant->take_connection())) return too_many_of_token(in);
  if (auto no = open_for_feed(in, to.request.run)) return std::move(*no);
  return to;
}

// ---- webhooks

routed get_webhooks(call& in) {
  if (in.services.webhooks == nullptr) return archive_off();
  return deferred_response{[&webhooks = *in.services.webhooks, grant = in.grant](const response_callback& respond_to) {
    list_webhooks(webhooks, grant, respond_to);
  }};
}

routed get_dead_letters(call& in) {
  page_request page;
  if (auto no = take_page(in, page)) return std::move(*no);
  if (in.services.webhooks == nullptr) return archive_off();
  return deferred_response{
      [&webhooks = *in.services.webhooks, name = in.run, page, grant = in.grant](const response_callback& respond_to) {
        list_dead_letters(webhooks, name, page, grant, respond_to);
      }};
}

routed retry_dead(call& in) {
  if (in.services.webhooks == nullptr) return archive_off();
  return deferred_response{[&webhooks = *in.services.webhooks, name = in.run](const response_callback& respond_to) {
    retry_dead_letters(webhooks, name, respond_to);
  }};
}

// ---- coding agents

routed take_hook(call& in, const hooks::dialect& as) {
  auto read = read_hook(*in.services.hooks.server, as, in.target, in.body, in.grant);
  if (auto* no = std::get_if<http_response>(&read)) return std::move(*no);
  return std::get<deferred_response>(std::move(read));
}

routed post_hook(call& in) {
  if (const hooks::dialect* as = hooks::find_dialect(in.run)) return take_hook(in, *as);
  return respond_error(http::status::not_found, "not_found", "no coding agent " + digd::quoted(in.run) + " is known");
}

routed post_guardrail(call& in) { return take_hook(in, hooks::litellm); }

// ---- the Model Context Protocol

// Its tools send requests to the API in the caller's name: with the caller's token, and with the same check of rights.
struct mcp_caller {
  http_services& services;
  peer_ptr from;
  std::string host, authorization;

  void ask(mcp::api_request&& asked, const std::function<void(mcp::api_answer&&)>& then) const {
    net::upgrade_request request;
    request.version(11);
    request.method(http::string_to_verb(asked.method));
    request.target(asked.target);
    request.set(http::field::host, host);
    if (!authorization.empty()) request.set(http::field::authorization, authorization);
    const auto pass_on = [then](http_response&& response) {
      then({.status = response.result_int(), .body = std::move(response.body())});
    };
    routed result = route(request, asked.body, from, services);
    if (auto* response = std::get_if<http_response>(&result)) return pass_on(std::move(*response));
    if (auto* deferred = std::get_if<deferred_response>(&result)) {
      return deferred->start([pass_on, place = deferred->place](http_response&& r) { pass_on(std::move(r)); });
    }
    then({.status = 0, .body = "no tool reads this"});
  }
};

routed post_mcp(call& in) {
  const auto caller =
      std::make_shared<mcp_caller>(mcp_caller{in.services, in.from, std::string(in.request[http::field::host]),
                                              std::string(in.request[http::field::authorization])});
  return deferred_response{[caller, body = std::string(in.body)](const response_callback& respond_to) {
    const mcp::api_call api = [caller](mcp::api_request&& asked, const std::function<void(mcp::api_answer&&)>& then) {
      caller->ask(std::move(asked), then);
    };
    mcp::answer(body, api, [respond_to](std::string&& response) {
      if (response.empty()) return respond_to(respond(http::status::accepted, "text/plain", {}));
      respond_to(respond_json(std::move(response)));
    });
  }};
}

// ---- the operator's switch

// `switched`: the number of runs that the switch changed; none for a GET.
http_response mode_response(mode m, std::optional<std::size_t> switched) {
  std::string body;
  json_writer to(body);
  to.open_object().key("mode").text(to_string(m));
  if (switched) to.key("switched").integer(*switched);
  to.close_object();
  return respond_json(body + '\n');
}

routed put_mode(call& in) {
  json::error_code ec;
  const json::value value = json::parse({in.body.data(), in.body.size()}, ec);
  const json::object* fields = ec ? nullptr : value.if_object();
  if (fields == nullptr) {
    return respond_error(http::status::bad_request, "bad_json", "expected {\"mode\":\"observe\"}");
  }
  const json::value* given = fields->if_contains("mode");
  const json::string* name = given == nullptr ? nullptr : given->if_string();
  const auto strongest = name == nullptr ? std::nullopt : mode_from({name->data(), name->size()});
  if (!strongest) {
    return respond_error(http::status::bad_request, "bad_mode", "mode: expected off, observe, shadow or enforce");
  }
  return deferred_response{
      [&runs = in.services.runs, m = *strongest, by = caller_of(in)](const response_callback& respond_to) {
        switch_all(runs, m, by, [m, respond_to](std::size_t changed) { respond_to(mode_response(m, changed)); });
      }};
}

routed get_or_put_mode(call& in) {
  if (in.services.view != nullptr) return respond_json("{\"mode\":\"off\",\"fleet\":true}\n");
  if (in.request.method() == http::verb::put) return put_mode(in);
  return mode_response(in.services.runs.operator_mode.load(), {});
}

// ---- the dashboard

routed get_page(call& in) { return serve_page(in.request, in.target.path); }

// ---- health

routed get_health(call&) { return respond_text("ok\n"); }
routed get_readiness(call& in) { return readiness(in.services.metrics.readiness); }

std::string archive_reader_metrics(const archive_access& archive) {
  prometheus_text out;
  const attribution_counts& attributions = archive.attribution->counted();
  out.counter("digd_attributions_total", "Attributions that began.", attributions.started.load());
  out.counter("digd_attributions_failed_total", "Attributions that failed.", attributions.failed.load());
  out.counter("digd_attributions_refused_total", "Refused, because another one ran.", attributions.refused.load());
  if (!archive.search->is_on()) return out.take();
  const search_counts& search = archive.search->counted();
  out.counter("digd_search_texts_total", "Texts added to the search index.", search.texts.load());
  out.counter("digd_search_failed_total", "Rounds of the search index that were tried again.", search.failed.load());
  out.counter("digd_search_dropped_runs_total", "Runs that left the full search index.", search.dropped_runs.load());
  out.gauge("digd_search_bytes", "Bytes of the search index.", search.bytes.load());
  return out.take();
}

routed get_metrics(call& in) {
  if (in.grant && !in.grant->covers_all_runs()) {  // the counts are about all runs
    return respond_error(http::status::forbidden, "forbidden",
                         "the token is for some runs, and this request is about all runs");
  }
  http_response response = metrics(in.services.metrics);
  if (in.services.archive != nullptr) response.body() += archive_reader_metrics(*in.services.archive);
  if (in.services.view != nullptr) response.body() += view_metrics(*in.services.view);
  response.prepare_payload();
  return response;
}

// ---- the table. New paths go here.

// Routes with a larger body. A POST of `decision` needs the right `operate`, like any other change. A POST of the
// others needs only the route's `needs`: they take what systems report, call other routes, or check a signed link.
enum class intake : std::uint8_t { none, spans, hooks, mcp, decision, signed_decision };

// How a viewer of a fleet treats a route. A viewer changes nothing but its own state.
enum class viewing : std::uint8_t { refused, as_usual, opened_run };

struct route_entry {
  // "*" stands for the id of a run or the name of a webhook; the second "*" for a detection or a hold.
  std::array<std::string_view, 6> path;
  std::string_view methods;  // as in Allow
  routed (*serve)(call&);
  viewing in_view = viewing::refused;
  right needs = right::read;  // methods that change something need `operate`
  intake takes = intake::none;
};

constexpr std::string_view litellm_path = "litellm_basic_guardrail_api";

constexpr route_entry routes[] = {
    {{}, "GET, HEAD", get_page, viewing::as_usual, right::none},
    {{"favicon.svg"}, "GET, HEAD", get_page, viewing::as_usual, right::none},
    {{"assets", "*"}, "GET, HEAD", get_page, viewing::as_usual, right::none},
    {{"healthz"}, "GET, HEAD", get_health, viewing::as_usual, right::none},
    {{"hold"}, "GET, HEAD, POST", get_or_post_hold_page, viewing::refused, right::none, intake::signed_decision},
    {{"readyz"}, "GET, HEAD", get_readiness, viewing::as_usual},
    {{"metrics"}, "GET, HEAD", get_metrics, viewing::as_usual},
    {{"mcp"}, "POST", post_mcp, viewing::as_usual, right::read, intake::mcp},
    {{"v1", "ingest"}, "GET", open_ingest, viewing::refused, right::ingest},
    {{"v1", "feed"}, "GET", open_feed, viewing::as_usual, right::watch},
    {{"v1", "fleet"}, "GET, HEAD", get_fleet, viewing::as_usual},
    {{"v1", "fleet", "runs"}, "GET, HEAD", get_fleet_runs, viewing::as_usual},
    {{"v1", "mode"}, "GET, HEAD, PUT", get_or_put_mode, viewing::as_usual},
    {{"v1", "traces"}, "POST", post_traces, viewing::refused, right::ingest, intake::spans},
    {{"v1", "hooks", "*"}, "POST", post_hook, viewing::refused, right::ingest, intake::hooks},
    {{"v1", "guardrail", "beta", litellm_path}, "POST", post_guardrail, viewing::refused, right::ingest, intake::hooks},
    {{"v1", "holds"}, "GET, HEAD", get_all_holds},
    {{"v1", "pilot"}, "GET, HEAD", get_pilot},
    {{"v1", "runs"}, "GET, HEAD", get_runs, viewing::as_usual},
    {{"v1", "runs", "*"}, "GET, HEAD, DELETE", get_or_delete_run, viewing::opened_run},
    {{"v1", "runs", "*", "attribution"}, "GET, HEAD, POST", get_or_start_attribution, viewing::opened_run},
    {{"v1", "runs", "*", "detections"}, "GET, HEAD", get_detections, viewing::opened_run},
    {{"v1", "runs", "*", "detections", "*", "judgement"}, "POST", post_judgement},
    {{"v1", "runs", "*", "entries", "*"}, "GET, HEAD", get_entry, viewing::opened_run},
    {{"v1", "runs", "*", "graph"}, "GET, HEAD", get_graph, viewing::opened_run},
    {{"v1", "runs", "*", "holds"}, "GET, HEAD", get_holds, viewing::opened_run},
    {{"v1", "runs", "*", "holds", "*"}, "POST", post_decision, viewing::refused, right::read, intake::decision},
    {{"v1", "runs", "*", "trace"}, "GET", get_trace, viewing::opened_run},
    {{"v1", "runs", "*", "report"}, "GET, HEAD", get_report, viewing::opened_run},
    {{"v1", "runs", "*", "usage"}, "GET, HEAD", get_usage, viewing::opened_run},
    {{"v1", "search"}, "GET, HEAD", get_search, viewing::as_usual},
    {{"v1", "webhooks"}, "GET, HEAD", get_webhooks},
    {{"v1", "webhooks", "*", "dead"}, "GET, HEAD", get_dead_letters},
    {{"v1", "webhooks", "*", "retry"}, "POST", retry_dead},
};

bool matches(const route_entry& entry, const std::vector<std::string>& path, std::string& run, std::string& detection) {
  const auto end = std::find(entry.path.begin(), entry.path.end(), std::string_view{});
  if (path.size() != static_cast<std::size_t>(end - entry.path.begin())) return false;
  for (std::size_t i = 0; i < path.size(); ++i) {
    if (entry.path[i] == "*") {
      if (path[i].empty() || path[i].size() > max_run_id_bytes) return false;
      (i < 3 ? run : detection) = path[i];
    } else if (entry.path[i] != path[i]) {
      return false;
    }
  }
  return true;
}

bool needs_operate(const route_entry& entry, http::verb method) {
  return method != http::verb::get && method != http::verb::head &&
         (entry.takes == intake::none || entry.takes == intake::decision);
}

// A viewer answers nothing that needs `operate`, except an attribution, which changes nothing in the fleet.
bool is_viewable(const route_entry& entry, http::verb method) {
  if (entry.in_view == viewing::refused) return false;
  return !needs_operate(entry, method) || entry.serve == get_or_start_attribution;
}

std::optional<http_response> refuse_unauthorized(const route_entry& entry, call& in) {
  const bool changes = needs_operate(entry, in.request.method());
  const bool is_run = entry.path[1] == "runs" && entry.path[2] == "*";
  const std::string* asked = in.target.parameter("run");
  const std::string_view run = is_run ? std::string_view(in.run) : asked != nullptr ? std::string_view(*asked) : "";
  auto decision = in.services.admission.authorizer.check(in.request, changes ? right::operate : entry.needs, run);
  in.grant = std::move(decision.grant);
  if (decision.refused) return refuse_access(in, *decision.refused);
  // A token for some runs may not change state that concerns all runs.
  if (in.grant && changes && !is_run && !in.grant->covers_all_runs()) {
    return refuse_access(in, "the token is for some runs, and this request is about all runs");
  }
  return std::nullopt;
}

call make_call(const net::upgrade_request& request, std::string_view body, const peer_ptr& from,
               http_services& services) {
  return {.request = request,
          .body = body,
          .target = {},
          .run = {},
          .detection = {},
          .services = services,
          .from = from,
          .grant = {}};
}

// Checks everything but the body: the caller, the path, the method and the right.
std::variant<const route_entry*, http_response> find_route(call& in) {
  if (auto no = refuse_untrusted(in.request, in.services.admission.trusted, *in.from)) return std::move(*no);
  auto target = split_target(in.request.target());
  if (!target) return respond_error(http::status::bad_request, "bad_target", "the path or the query is badly encoded");
  in.target = std::move(*target);
  for (const route_entry& entry : routes) {
    if (!matches(entry, in.target.path, in.run, in.detection)) continue;
    if (!names_token(entry.methods, in.request.method_string())) return wrong_method(entry.methods);
    if (in.services.view != nullptr && !is_viewable(entry, in.request.method())) {
      return respond_error(http::status::not_found, "viewer", "this digd only shows a fleet (fleet.view)");
    }
    if (auto no = refuse_unauthorized(entry, in)) return std::move(*no);
    return &entry;
  }
  return respond_error(http::status::not_found, "not_found", "there is nothing at this path");
}

// The route of the request's path, if it takes a larger body; otherwise null.
const route_entry* find_taker(call& in) {
  const auto target = split_target(in.request.target());
  if (!target) return nullptr;
  const auto taker = std::find_if(std::begin(routes), std::end(routes), [&](const route_entry& entry) {
    return entry.takes != intake::none && matches(entry, target->path, in.run, in.detection);
  });
  return taker == std::end(routes) ? nullptr : taker;
}

}  // namespace

std::variant<body_limit, http_response> limit_body(const net::upgrade_request& head, const peer_ptr& from,
                                                   http_services& services) {
  call in = make_call(head, {}, from, services);
  const route_entry* const taker = find_taker(in);
  if (taker == nullptr) return body_limit{};  // `route` refuses the request
  auto found = find_route(in);
  if (auto* no = std::get_if<http_response>(&found)) return std::move(*no);
  if (taker->takes == intake::decision || taker->takes == intake::signed_decision) {
    return body_limit{max_decision_bytes, nullptr};
  }
  const account_ptr token = in.grant ? in.grant->memory() : nullptr;
  if (taker->takes == intake::mcp) return body_limit{mcp::max_message_bytes, nullptr, true, token};
  if (taker->takes == intake::hooks) {
    ticket_ptr slot = services.hooks.bodies.take(client_of(in));
    if (!slot) return busy("too many hooks at once, of all or of this client");
    return body_limit{hook_server::max_body_bytes, std::move(slot), true, token};
  }
  return limit_spans(in, token);
}

routed route(const net::upgrade_request& request, std::string_view body, const peer_ptr& from, http_services& services,
             memory_charge* memory) {
  call in = make_call(request, body, from, services);
  auto found = find_route(in);
  if (auto* no = std::get_if<http_response>(&found)) return std::move(*no);
  const route_entry& entry = *std::get<const route_entry*>(found);
  const bool is_decision = entry.takes == intake::signed_decision && request.method() == http::verb::post;
  routed answer = entry.serve(in);
  // The conversation or the feed reader of a WebSocket allows its connection later.
  const bool is_upgrade = std::holds_alternative<to_ingest>(answer) || std::holds_alternative<to_feed>(answer);
  if (memory != nullptr && entry.needs != right::none && !is_upgrade) {
    memory->allow(in.grant ? in.grant->memory() : nullptr);
  }
  if (services.view != nullptr && entry.in_view == viewing::opened_run) answer = once_opened(in, std::move(answer));
  if (is_decision) return audited_decision(in, std::move(answer));
  return needs_operate(entry, request.method()) ? audited(in, std::move(answer)) : std::move(answer);
}

}  // namespace digd::daemon
