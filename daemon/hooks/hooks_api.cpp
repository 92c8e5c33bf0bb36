#include "daemon/hooks/hooks_api.h"

#include <chrono>
#include <memory>
#include <string>
#include <utility>

#include "base/quote.h"

namespace digd::daemon {

namespace http = boost::beast::http;

std::variant<deferred_response, http_response> read_hook(hook_server& server, std::string_view name,
                                                         const request_target& target, std::string_view body,
                                                         const grant_ptr& grant) {
  const hooks::dialect* as = hooks::find_dialect(name);
  if (as == nullptr) {
    return respond_error(http::status::not_found, "not_found", "no coding agent " + digd::quoted(name) + " is known");
  }
  return read_hook(server, *as, target, body, grant);
}

std::variant<deferred_response, http_response> read_hook(hook_server& server, const hooks::dialect& as,
                                                         const request_target& target, std::string_view body,
                                                         const grant_ptr& grant) {
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
  if (grant && grant->take(std::chrono::steady_clock::now(), body.size()).count() > 0) {
    return busy("the token sends too fast");
  }
  const auto shared = std::make_shared<hooks::call>(std::move(*call));
  return deferred_response{[&server, &as, mode = *wanted, shared](response_callback respond_to) {
    server.submit(as, mode, std::move(*shared), std::move(respond_to));
  }};
}

}  // namespace digd::daemon
