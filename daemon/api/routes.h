// The table of all paths and their handlers. No I/O: a handler that takes time is returned as work.
//
// Thread: any; called on a connection's thread.
#pragma once

#include <string_view>
#include <variant>

#include "daemon/api/http_services.h"
#include "daemon/api/routed.h"
#include "daemon/http/request_handler.h"

namespace digd::daemon {

// Before a body is read: its limit, or a refusal in place of reading it.
std::variant<body_limit, http_response> limit_body(const net::upgrade_request& head, const peer_ptr& from,
                                                   http_services& services);

// Answers a request. `body`: the whole body, within its limit. `memory`: the charge of the request's connection; null:
// none. If the request is accepted, its token pays for the connection from then on, unless the request needs no right
// or is an upgrade.
routed route(const net::upgrade_request& request, std::string_view body, const peer_ptr& from, http_services& services,
             memory_charge* memory = nullptr);

inline constexpr std::string_view ingest_subprotocol = "digd.v1";

}  // namespace digd::daemon
