// The answer to a browser that asks for the dashboard's page or one of its files: a look-up in a table of names, so
// that no path leads anywhere else. Pure; any thread.
#pragma once

#include <string>
#include <vector>

#include "daemon/http/responses.h"
#include "net/websocket_session.h"

namespace digd::daemon {

// `path`: of the request, decoded; empty: the page. 304 for whoever has it already, 404 for names that are not in the
// table, 501 with what to do if digd was built without the dashboard.
http_response serve_page(const net::upgrade_request& request, const std::vector<std::string>& path);

}  // namespace digd::daemon
