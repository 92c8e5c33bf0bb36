#include "daemon/dashboard/page.h"

#include <string_view>

#include "daemon/dashboard/embedded.h"
#include "daemon/http/request_check.h"

namespace digd::daemon {

namespace {

namespace http = boost::beast::http;

// The page runs and shows only files of this host and connects only to it. No page of another host may frame it, and
// text never becomes markup.
constexpr std::string_view dashboard_policy =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'";

std::string_view header(const net::upgrade_request& request, http::field name) {
  const auto value = request[name];
  return {value.data(), value.size()};
}

const embedded_file* find(const std::vector<std::string>& path) {
  std::string name = path.empty() ? "index.html" : path.front();
  for (std::size_t i = 1; i < path.size(); ++i) name += '/' + path[i];
  for (const embedded_file& file : embedded_files()) {
    if (file.path == name) return &file;
  }
  return nullptr;
}

void set(http_response& response, http::field name, std::string_view value) {
  response.set(name, {value.data(), value.size()});
}

}  // namespace

http_response serve_page(const net::upgrade_request& request, const std::vector<std::string>& path) {
  if (embedded_files().empty()) {
    return respond(
        http::status::not_implemented, "text/plain; charset=utf-8",
        "This digd was built without its dashboard. To build it: npm ci && npm run build in dashboard/, then "
        "build digd again (scripts/run does both). Everything else works: digctl runs, show, tail.\n");
  }
  const embedded_file* file = find(path);
  if (file == nullptr) return respond_error(http::status::not_found, "not_found", "there is nothing at this path");
  const bool zipped = names_token(header(request, http::field::accept_encoding), "gzip");
  const std::string tag = '"' + std::string(file->digest) + (zipped ? "-gz\"" : "\"");
  const bool known = names_token(header(request, http::field::if_none_match), tag);
  http_response response =
      known ? respond(http::status::not_modified, {}, {})
            : respond(http::status::ok, file->content_type, std::string(zipped ? file->gzip : file->body));
  set(response, http::field::etag, tag);
  set(response, http::field::vary, "Accept-Encoding");
  set(response, http::field::cache_control, file->never_changes ? "public, max-age=31536000, immutable" : "no-cache");
  if (zipped && !known) set(response, http::field::content_encoding, "gzip");
  response.set("Content-Security-Policy", {dashboard_policy.data(), dashboard_policy.size()});
  response.set("Referrer-Policy", "no-referrer");
  response.set("Cross-Origin-Opener-Policy", "same-origin");
  response.set("Cross-Origin-Resource-Policy", "same-origin");
  return response;
}

}  // namespace digd::daemon
