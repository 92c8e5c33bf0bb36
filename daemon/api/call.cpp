#include "daemon/api/call.h"

#include <limits>

namespace digd::daemon {

routed read_archive(call& in, read_pool::work work) {
  if (in.services.archive == nullptr) return archive_off();
  return deferred_response{[&pool = in.services.archive->pool, client = client_of(in),
                            work = std::move(work)](const response_callback& respond_to) {
    if (!pool.submit(client, work, respond_to)) respond_to(archive_busy());
  }};
}

std::string caller_of(const call& in) { return in.grant ? in.grant->name() : std::string(); }

std::string client_of(const call& in) { return in.grant ? "token " + in.grant->name() : in.from->name; }

client_reads reads_of(const call& in) {
  return {.pool = in.services.archive == nullptr ? nullptr : &in.services.archive->pool, .client = client_of(in)};
}

std::optional<http_response> take_page(const call& in, page_request& page) {
  if (const std::string* limit = in.target.parameter("limit")) {
    const auto n = whole_number(*limit);
    if (!n || *n == 0 || *n > page_request::max_limit) {
      return bad_parameter("limit", "expected 1 to " + std::to_string(page_request::max_limit));
    }
    page.limit = *n;
  }
  if (const std::string* cursor = in.target.parameter("cursor")) {
    const auto n = whole_number(*cursor);
    if (!n || *n > std::numeric_limits<std::int64_t>::max()) {
      return bad_parameter("cursor", "expected the `next` of the page before");
    }
    page.cursor = *n;
  }
  return std::nullopt;
}

std::optional<http_response> take_run_parameter(const call& in, std::optional<std::string>& run) {
  const std::string* given = in.target.parameter("run");
  if (given == nullptr) return std::nullopt;
  if (given->empty() || given->size() > max_run_id_bytes) return bad_parameter("run", "expected 1 to 256 bytes");
  run = *given;
  return std::nullopt;
}

}  // namespace digd::daemon
