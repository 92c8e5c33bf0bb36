#include "daemon/hooks/hooks_api.h"

#include <chrono>
#include <memory>
#include <string>
#include <utility>

#include "ingest/hooks/read_call.h"

namespace digd::daemon {

namespace http = boost::beast::http;

// The token's rate comes first: a body that is over it is not parsed.
std::variant<deferred_response, http_response> read_hook(hook_server& server, const hooks::dialect& as,
                                                         const request_target& target, std::string_view body,
                                                         const grant_ptr& grant) {
  const auto arrived = std::chrono::steady_clock::now();
  if (grant && grant->take(arrived, body.size()).count() > 0) return busy("the token sends too fast");
  auto call = hooks::read_call(as, body);
  const std::string* parameter = target.parameter("mode");
  const std::string asked = parameter != nullptr ? *parameter : call ? call->mode : std::string();
  const auto wanted = asked.empty() && parameter == nullptr ? mode::shadow : mode_from(asked);
  if (!wanted) return bad_parameter("mode", "expected off, observe, shadow or enforce");
  if (!call) {
    server.counted().malformed.fetch_add(1);
    const hooks::bad_call& problem = call.error();
    return respond_error(http::status::bad_request, "bad_hook",
                         problem.field.empty() ? problem.message : problem.field + ": " + problem.message);
  }
  if (grant && !grant->covers(call->session + '/')) {
    return respond_error(http::status::forbidden, "forbidden", "the token is not for the runs of this session");
  }
  const auto request = std::make_shared<hook_request>(
      hook_request{.dialect = as, .mode = *wanted, .call = std::move(*call), .grant = grant, .arrived = arrived});
  return deferred_response{[&server, request](response_callback respond_to) {
    request->answer = std::move(respond_to);
    server.submit(std::move(*request));
  }};
}

}  // namespace digd::daemon
