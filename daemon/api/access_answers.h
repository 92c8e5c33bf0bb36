// Answers requests that the token does not allow. Writes the audit log's lines about these requests and about requests
// that change something. Thread: the connection's.
#pragma once

#include <string>

#include "daemon/api/call.h"
#include "daemon/api/routed.h"
#include "daemon/http/responses.h"

namespace digd::daemon {

// 403 for a known token (`in.grant`); otherwise 401, or 429 for a peer that sends too many unknown ones. Logs it.
http_response refuse_access(const call& in, const std::string& problem);

// Returns the same result, which also writes the request into the audit log once its answer is known.
routed audited(const call& in, routed&& result);
// The same for a decision by a signed link. It needs no right, so the audit log limits failed decisions as refusals.
routed audited_decision(const call& in, routed&& result);

}  // namespace digd::daemon
