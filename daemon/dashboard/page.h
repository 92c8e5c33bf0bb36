// Serves the dashboard's page and its files. It only looks names up in a table, so no path reaches the disk. Pure; any
// thread.
#pragma once

#include <string>
#include <vector>

#include "daemon/http/responses.h"
#include "net/upgrade_request.h"

namespace digd::daemon {

// `path`: the decoded path of the request; empty: the page. 304 if the browser has the file already, 404 for a name
// that is not in the table, 501 with instructions if digd was built without the dashboard.
http_response serve_page(const net::upgrade_request& request, const std::vector<std::string>& path);

}  // namespace digd::daemon
