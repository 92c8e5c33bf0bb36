#include "daemon/http/responses.h"

#include <utility>

#include "base/json_writer.h"
#include "base/quote.h"

namespace digd::daemon {

namespace http = boost::beast::http;

http_response respond(http::status status, std::string_view content_type, std::string body) {
  http_response response(status, 11);
  response.set(http::field::server, "digd");
  response.set(http::field::cache_control, "no-store");
  response.set("X-Content-Type-Options", "nosniff");
  response.set("X-Frame-Options", "DENY");
  if (!content_type.empty()) response.set(http::field::content_type, {content_type.data(), content_type.size()});
  response.body() = std::move(body);
  response.prepare_payload();
  return response;
}

http_response respond_json(std::string body) { return respond(http::status::ok, "application/json", std::move(body)); }

http_response respond_text(std::string body) {
  return respond(http::status::ok, "text/plain; charset=utf-8", std::move(body));
}

http_response respond_nothing() { return respond(http::status::no_content, {}, {}); }

http_response respond_error(http::status status, std::string_view code, std::string_view message) {
  std::string body;
  json_writer to(body);
  to.open_object().key("error").open_object().key("code").text(code).key("message").text(message);
  to.close_object().close_object();
  return respond(status, "application/json", body + '\n');
}

http_response bad_parameter(std::string_view name, std::string_view message) {
  return respond_error(http::status::bad_request, "bad_parameter", std::string(name) + ": " + std::string(message));
}

http_response wrong_method(std::string_view allow) {
  http_response response =
      respond_error(http::status::method_not_allowed, "wrong_method", "this path takes " + std::string(allow));
  response.set(http::field::allow, {allow.data(), allow.size()});
  return response;
}

http_response no_such_run(std::string_view run) {
  return respond_error(http::status::not_found, "no_such_run", "there is no run " + digd::quoted(run));
}

http_response archive_off() {
  return respond_error(http::status::service_unavailable, "archive_off",
                       "this daemon keeps no archive (archive = false), so there is nothing to read");
}

http_response busy(std::string_view message) {
  http_response response = respond_error(http::status::service_unavailable, "busy", message);
  response.set(http::field::retry_after, "1");
  return response;
}

http_response archive_busy() { return busy("too many requests wait for the archive; try again"); }

http_response stopping() { return busy(std::string(stopping_words) + "; try again when it runs again"); }

http_response too_many(std::string_view message) {
  http_response response = respond_error(http::status::too_many_requests, "over_limit", message);
  response.set(http::field::retry_after, "1");
  return response;
}

http_response archive_unreadable(std::string_view problem) {
  return respond_error(http::status::internal_server_error, "archive_unreadable",
                       "the archive cannot be read: " + std::string(problem));
}

}  // namespace digd::daemon
