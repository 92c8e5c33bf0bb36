// A request on its way to its handler, and the functions that handlers share.
//
// Thread: that of the request's connection, an engine thread. Lifetime: a `call` ends when its handler returns; work
// for another thread keeps no reference to it.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "daemon/api/http_services.h"
#include "daemon/api/routed.h"
#include "daemon/http/page_request.h"
#include "daemon/http/request_target.h"
#include "daemon/http/responses.h"
#include "net/upgrade_request.h"

namespace digd::daemon {

inline constexpr std::size_t max_run_id_bytes = 256;  // in a path or a parameter

// A request, and the names in its path.
struct call {
  const net::upgrade_request& request;
  std::string_view body;
  request_target target;
  std::string run;
  std::string detection;  // the path's second name
  http_services& services;
  const peer_ptr& from;
  grant_ptr grant;  // null where no tokens are configured
};

// Runs `work` on the read pool. Answers 503 if the pool is full or the archive is off.
routed read_archive(call& in, read_pool::work work);

// The name of the caller's token; empty where no tokens are configured.
std::string caller_of(const call& in);
// The client for limits that clients share: a token or, without tokens, a peer.
std::string client_of(const call& in);
client_reads reads_of(const call& in);

// Reads the parameters `limit` and `cursor` into `page`. Returns the error answer if one is not valid.
std::optional<http_response> take_page(const call& in, page_request& page);
// Reads the parameter `run` into `run`. Returns the error answer if it is not valid.
std::optional<http_response> take_run_parameter(const call& in, std::optional<std::string>& run);

// ---- a viewer of a fleet

// Asks Python's digd.fleet `question`, with the parameters of the request.
routed ask_fleet(call& in, std::string_view question);
// Returns `answer`, changed so that the viewer first opens the run of the request.
routed once_opened(call& in, routed&& answer);
// If this daemon is a viewer, begins to open the run of a feed. Returns the error answer if the token does not cover
// the run.
std::optional<http_response> open_for_feed(const call& in, const std::optional<std::string>& run);
std::string view_metrics(const fleet_view& view);

// ---- handlers in files of their own

routed get_fleet(call& in);
routed get_fleet_runs(call& in);

routed get_runs(call& in);
routed get_or_delete_run(call& in);
routed get_detections(call& in);
routed get_graph(call& in);
routed get_trace(call& in);
routed get_report(call& in);
routed get_usage(call& in);
routed get_pilot(call& in);
routed get_or_start_attribution(call& in);
routed get_entry(call& in);
routed get_search(call& in);
routed post_judgement(call& in);

routed post_traces(call& in);
// `token`: the account that pays for the body; null where no tokens are configured.
std::variant<body_limit, http_response> limit_spans(const call& in, account_ptr token);

routed get_holds(call& in);
routed get_all_holds(call& in);
routed post_decision(call& in);
routed get_or_post_hold_page(call& in);

}  // namespace digd::daemon
