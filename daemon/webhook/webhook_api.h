// Answers the requests under /v1/webhooks.
//
// Threads: call them on any thread; `on_answer` is called on the webhooks' thread, or at once if the daemon stops.
// Bounds: a page has at most the requested number of dead letters. Failure: an error answer.
#pragma once

#include <functional>
#include <string>

#include "daemon/access/tokens.h"
#include "daemon/http/page_request.h"
#include "daemon/http/responses.h"
#include "daemon/webhook/webhook_server.h"

namespace digd::daemon {

using webhook_answer = std::function<void(http_response&&)>;

// `viewer`: the requester's token; null: it may see everything. A token may see a webhook if it covers all of the
// webhook's runs, and the dead letters of the runs that it covers.
void list_webhooks(webhook_server& server, grant_ptr viewer, const webhook_answer& on_answer);
void list_dead_letters(webhook_server& server, const std::string& name, const page_request& page, grant_ptr viewer,
                       const webhook_answer& on_answer);
// Queues the dead letters again, the oldest first, as many as there is room for.
void retry_dead_letters(webhook_server& server, const std::string& name, const webhook_answer& on_answer);

}  // namespace digd::daemon
