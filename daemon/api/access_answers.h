// Refuses requests that their token does not allow. Logs these, and requests that change something, in the audit log.
// Thread: the connection's.
#pragma once

#include <string>

#include "daemon/api/call.h"
#include "daemon/api/routed.h"
#include "daemon/http/responses.h"

namespace digd::daemon {

// 403 if the token is known (`in.grant`). Otherwise 401, or 429 for a peer that sends too many unknown tokens. Logs the
// refusal.
http_response refuse_access(const call& in, const std::string& problem);

// Returns `result`, changed so that the audit log gets a line about the request once its answer is known.
routed audited(const call& in, routed&& result);
// As `audited`, for a decision by a signed link. Such a request needs no token, so failed ones count against the audit
// log's limit of refusals.
routed audited_decision(const call& in, routed&& result);

}  // namespace digd::daemon
