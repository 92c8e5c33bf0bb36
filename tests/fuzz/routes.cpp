// Untrusted HTTP requests, head and body, through the table of routes, without an archive and without threads. Every
// request gets an answer now or later, JSON answers are JSON, and a header is one line.
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/parser.hpp>
#include <variant>

#include "daemon/api/routes.h"
#include "tests/daemon/offline_daemon.h"
#include "tests/fuzz/target.h"

using namespace digd;
using namespace digd::daemon;
using fuzz::must;

namespace {

namespace http = boost::beast::http;

void check_answer(const http_response& answer) {
  must(answer.result_int() >= 200 && answer.result_int() < 600, "an answer has a status");
  const auto type = answer[http::field::content_type];
  if (type.starts_with("application/json")) fuzz::must_be_json(answer.body(), "a JSON answer is JSON");
  for (const auto& field : answer) {
    must(field.value().find('\n') == std::string_view::npos, "a header is one line",
         {field.value().data(), field.value().size()});
  }
}

}  // namespace

FUZZ_TARGET(routes) {
  static offline_daemon daemon;
  http::request_parser<http::empty_body> parser;
  parser.header_limit(16 * 1024);
  parser.body_limit(max_body_bytes);
  boost::system::error_code ec;
  const std::size_t head = parser.put(boost::asio::buffer(data, size), ec);
  if ((ec && ec != http::error::need_more) || !parser.is_header_done()) return 0;
  const std::string_view body = fuzz::text_of(data + head, std::min(size - head, max_body_bytes));
  net::upgrade_request request;
  request.base() = parser.get().base();
  const routed to = route(request, body, daemon.from, daemon.services);
  if (const auto* answer = std::get_if<http_response>(&to)) check_answer(*answer);
  if (const auto* ingest = std::get_if<to_ingest>(&to); ingest != nullptr && ingest->run) {
    must(!ingest->run->empty() && ingest->run->size() <= 256, "a run's id has 1 to 256 bytes", *ingest->run);
  }
  must(!std::holds_alternative<to_feed>(to) && !std::holds_alternative<chunked_response>(to),
       "without an archive there is no feed and no trace");
  return 0;
}
