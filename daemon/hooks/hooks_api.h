// POST /v1/hooks/NAME: reads a hook call of a coding agent, and answers what its hook should do. `?mode=enforce` lets
// digd change what the agent does; the default is shadow. POST /v1/guardrail/beta/litellm_basic_guardrail_api: the
// same for a model call that LiteLLM is about to make, which names its mode in the body.
//
// Thread: any; pure but for the counters. Failure: an HTTP error; the agent then continues as without digd.
#pragma once

#include <string_view>
#include <variant>

#include "daemon/access/tokens.h"
#include "daemon/hooks/hook_server.h"
#include "daemon/http/request_handler.h"
#include "daemon/http/request_target.h"

namespace digd::daemon {

std::variant<deferred_response, http_response> read_hook(hook_server& server, const hooks::dialect& as,
                                                         const request_target& target, std::string_view body,
                                                         const grant_ptr& grant);

}  // namespace digd::daemon
