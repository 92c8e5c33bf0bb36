// /v1/runs/ID/attribution: GET shows the state of a run's attribution, POST begins it.
#include <chrono>
#include <utility>

#include "base/json_writer.h"
#include "daemon/api/call.h"
#include "daemon/attribution/attribution_worker.h"

namespace digd::daemon {

namespace {

using boost::beast::http::status;
using stage = attribution_state::stage;

std::string_view to_string(stage now) {
  constexpr std::string_view names[] = {"reading", "ranking", "done", "failed"};
  return names[static_cast<std::size_t>(now)];
}

http_response state_response(std::string_view run, const std::optional<attribution_state>& state) {
  std::string body;
  json_writer to(body);
  to.open_object().key("run").text(run).key("method").text("chief");
  to.key("state").text(state ? to_string(state->now) : "none");
  if (state) {
    const bool is_over = state->now == stage::done || state->now == stage::failed;
    const auto spent = (is_over ? state->ended : std::chrono::steady_clock::now()) - state->begun;
    to.key("read").integer(std::min(state->read_messages, state->messages)).key("messages").integer(state->messages);
    to.key("ms").integer(std::chrono::duration_cast<std::chrono::milliseconds>(spent).count());
    to.key("max_ms").integer(std::chrono::milliseconds(attribution_worker::max_time).count());
    if (state->now == stage::done) to.key("answer").raw(state->answer.substr(0, state->answer.find('\n')));
    if (state->now == stage::failed) to.key("problem").text(state->problem);
  }
  to.close_object();
  return respond_json(body + '\n');
}

http_response answer_attribution(attribution_worker& worker, archive::browser& from, std::string_view run,
                                 bool begins) {
  const auto found = from.find(run);
  if (!found) return archive_unreadable(found.error().message());
  if (!*found) return no_such_run(run);
  const std::uint64_t number = (*found)->number;
  if (begins) {
    const auto tally = from.tally(number);
    if (!tally) return archive_unreadable(tally.error().message());
    if (!worker.start(number, tally->messages)) return busy("another attribution runs; try again when it is over");
  }
  return state_response(run, worker.state(number));
}

}  // namespace

routed get_or_start_attribution(call& in) {
  if (in.services.archive == nullptr) return archive_off();
  const bool begins = in.request.method() == boost::beast::http::verb::post;
  return read_archive(in, [&worker = *in.services.archive->attribution, run = in.run, begins](archive::browser& from) {
    return answer_attribution(worker, from, run, begins);
  });
}

}  // namespace digd::daemon
