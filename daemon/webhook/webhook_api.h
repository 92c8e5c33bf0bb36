// What /v1/webhooks… answers with.
//
// Threads: the calls any; the answers are made on the webhooks' thread. Bounds: a page is as long as was asked for.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "daemon/http/responses.h"
#include "daemon/api/runs_api.h"
#include "daemon/webhook/webhook_server.h"

namespace digd::daemon {

using webhook_answer = std::function<void(http_response&&)>;

void list_webhooks(webhook_server& from, const webhook_answer& then);
// `may_see`: the runs that whoever asks may know of; the others are left out.
void list_dead_letters(webhook_server& from, const std::string& name, const page_request& page,
                       std::function<bool(std::string_view run)> may_see, const webhook_answer& then);
// Sends the dead letters again, the oldest first, as many as there is room for.
void retry_dead_letters(webhook_server& from, const std::string& name, const webhook_answer& then);

}  // namespace digd::daemon
