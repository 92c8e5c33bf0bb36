#include "daemon/hooks/hook_server.h"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <utility>

#include "daemon/runs/engine_threads.h"

namespace digd::daemon {

hook_server::hook_server(const engine_threads& threads, const live_settings& live,
                         std::vector<std::string> transcript_roots)
    : threads_(threads), live_(live), tables_(threads.size()), transcripts_(std::move(transcript_roots), counts_) {}

void hook_server::submit(const hooks::dialect& as, mode mode, hooks::call&& call, response_callback answer) {
  counts_.calls.fetch_add(1);
  if (call.kind == hooks::call_kind::other || call.kind == hooks::call_kind::unused) {
    (call.kind == hooks::call_kind::other ? counts_.unknown : counts_.unused).fetch_add(1);
    return answer(respond_json(as.write(call, {})));
  }
  transcripts_.add_usage(std::move(call), [this, &as, mode, answer = std::move(answer)](hooks::call&& ready) {
    engine_thread& home = threads_.owner_of(ready.session);
    boost::asio::post(home.context(), [this, &home, &as, mode, call = std::move(ready), answer]() mutable {
      take(home, as, mode, std::move(call), std::move(answer));
    });
  });
}

void hook_server::take(engine_thread& home, const hooks::dialect& as, mode mode, hooks::call&& call,
                       response_callback answer) {
  table& here = tables_[home.index()];
  const std::string id = call.session;
  std::shared_ptr<hook_session>& session = here.sessions[id];
  if (!session) {
    hooks::session_options options;
    options.program = as.name;
    options.mode = to_string(mode);
    options.able = as.able;
    options.stop_is_answer = as.stop_is_answer;
    options.reports_messages = as.reports_messages;
    session = std::make_shared<hook_session>(home, threads_, as, id, std::move(options), counts_);
    counts_.sessions.fetch_add(1);
  }
  const std::shared_ptr<hook_session> taker = session;
  taker->take(std::move(call), std::chrono::milliseconds(live_.now()->verdict_deadline_ms), std::move(answer));
  if (taker->has_ended()) counts_.sessions.fetch_sub(here.sessions.erase(id));
  if (here.sessions.size() > max_sessions) make_room(here);
}

void hook_server::make_room(table& in) {
  const auto oldest = std::min_element(in.sessions.begin(), in.sessions.end(), [](const auto& a, const auto& b) {
    return a.second->last_used() < b.second->last_used();
  });
  oldest->second->close();
  in.sessions.erase(oldest);
  counts_.evicted.fetch_add(1);
  counts_.sessions.fetch_sub(1);
}

}  // namespace digd::daemon
