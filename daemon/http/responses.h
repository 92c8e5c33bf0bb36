// Makes HTTP responses: JSON or text, bounded, not cached. A browser runs nothing in them, except for the page of a
// report, which has its own content security policy. Pure functions.
#pragma once

#include <boost/beast/http/message.hpp>
#include <boost/beast/http/status.hpp>
#include <boost/beast/http/string_body.hpp>
#include <string>
#include <string_view>

namespace digd::daemon {

using http_response = boost::beast::http::response<boost::beast::http::string_body>;

http_response respond(boost::beast::http::status status, std::string_view content_type, std::string body);
http_response respond_json(std::string body);
http_response respond_text(std::string body);
http_response respond_nothing();  // 204

// The reasons of /readyz and of `stopping`.
inline constexpr std::string_view starting_words = "digd is starting", stopping_words = "digd is stopping";

// {"error":{"code":…,"message":…}}. Escapes `message`, which may quote the client.
http_response respond_error(boost::beast::http::status status, std::string_view code, std::string_view message);
// 400 that names the query parameter.
http_response bad_parameter(std::string_view name, std::string_view message);
http_response wrong_method(std::string_view allow);
http_response no_such_run(std::string_view run);
http_response archive_off();
// 503 with Retry-After.
http_response busy(std::string_view message);
http_response archive_busy();  // as many requests as may wait for the archive do so
http_response stopping();      // digd is stopping
// 429 with Retry-After.
http_response too_many(std::string_view message);
// 500: the archive cannot be read.
http_response archive_unreadable(std::string_view problem);
}  // namespace digd::daemon
