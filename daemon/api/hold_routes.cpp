// The handlers of holds.
#include <algorithm>

#include "daemon/api/call.h"
#include "daemon/api/hold_lists.h"
#include "daemon/api/holds.h"

namespace digd::daemon {

routed get_holds(call& in) {
  return deferred_response{
      [&services = in.services, reads = reads_of(in), run = in.run](const response_callback& respond_to) {
        list_holds(services.runs, reads, run, respond_to);
      }};
}

routed get_all_holds(call& in) {
  std::uint64_t limit = usual_listed_holds;
  if (const std::string* asked = in.target.parameter("limit")) {
    const auto n = whole_number(*asked);
    if (!n || *n == 0 || *n > max_listed_holds) {
      return bad_parameter("limit", "expected 1 to " + std::to_string(max_listed_holds));
    }
    limit = *n;
  }
  return deferred_response{
      [&services = in.services, reads = reads_of(in), limit, grant = in.grant](const response_callback& respond_to) {
        const auto shows = [grant](std::string_view run) { return !grant || grant->covers(run); };
        list_all_holds(services.runs, reads, limit, shows, respond_to);
      }};
}

routed post_decision(call& in) {
  const std::string_view caller = in.grant ? std::string_view(in.grant->name()) : std::string_view();
  auto read = read_decision(in.detection, in.body, caller);
  if (auto* no = std::get_if<http_response>(&read)) return std::move(*no);
  auto decision = std::get<ingest::own_line>(std::move(read));
  return deferred_response{
      [&runs = in.services.runs, run = in.run, decision = std::move(decision)](const response_callback& respond_to) {
        decide_hold(runs, run, 0, decision, respond_to);
      }};
}

}  // namespace digd::daemon
