#include "daemon/hooks/hook_server.h"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <utility>

#include "daemon/runs/engine_threads.h"
#include "daemon/runs/registry.h"
#include "daemon/runs/run_host.h"

namespace digd::daemon {

namespace {

using std::chrono::milliseconds;

// Null: no hook opened the run, or it has other sessions too.
const hooks::dialect* dialect_of(run_host& host) {
  const std::vector<ingest::session>& sessions = host.inbox().sessions();
  if (sessions.size() != 1) return nullptr;
  const std::string_view client = sessions.front().greeting.client;
  const std::size_t slash = client.find('/');
  if (slash == std::string_view::npos || client.substr(slash + 1) != hook_client_version) return nullptr;
  const std::string_view program = client.substr(0, slash);
  return program == hooks::litellm.name ? &hooks::litellm : hooks::find_dialect(program);
}

}  // namespace

hook_server::table::table(engine_thread& on) : home(on), timer(on.context().get_executor()) {}

hook_server::hook_server(const engine_threads& threads, const live_settings& live,
                         std::vector<std::string> transcript_roots)
    : threads_(threads), live_(live), transcripts_(std::move(transcript_roots), counts_) {
  for (const auto& thread : threads_) start_timer(tables_.emplace_back(*thread));
}

void hook_server::stop() {
  for (table& each : tables_) {
    boost::asio::post(each.home.context(), [&each] {
      each.is_stopped = true;
      each.timer.cancel();
    });
  }
}

void hook_server::submit(hook_request&& request) {
  counts_.calls.fetch_add(1);
  const hooks::call_kind kind = request.call.kind;
  if (kind == hooks::call_kind::other || kind == hooks::call_kind::unused) {
    (kind == hooks::call_kind::other ? counts_.unknown : counts_.unused).fetch_add(1);
    return request.answer(respond_json(request.dialect.write(request.call, {})));
  }
  table& here = tables_[threads_.owner_of(request.call.session).index()];
  boost::asio::post(here.home.context(),
                    [this, &here, request = std::move(request)]() mutable { take(here, std::move(request)); });
}

void hook_server::take(table& here, hook_request&& request) {
  // Two programs may give the same id to their sessions.
  const std::string key = std::string(request.dialect.name) + '/' + request.call.session;
  erase_ended(here, key);
  std::shared_ptr<hook_session>& session = here.sessions[key];
  if (!session) {
    // Later, because the session may be in use when it ends.
    const auto on_end = [this, &here, key] {
      boost::asio::post(here.home.context(), [this, &here, key] { erase_ended(here, key); });
    };
    session = std::make_shared<hook_session>(
        here.home, hook_parts{.threads = threads_, .transcripts = transcripts_, .counts = counts_}, request, on_end);
    counts_.sessions.fetch_add(1);
  }
  const std::shared_ptr<hook_session> taker = session;
  const milliseconds deadline(live_.now()->verdict_deadline_ms);
  taker->take(std::move(request), deadline);
  if (here.sessions.size() > max_sessions) make_room(here);
}

void hook_server::erase_ended(table& in, const std::string& key) {
  const auto found = in.sessions.find(key);
  if (found == in.sessions.end() || !found->second->has_ended()) return;
  in.sessions.erase(found);
  counts_.sessions.fetch_sub(1);
}

void hook_server::make_room(table& in) {
  const auto oldest = std::min_element(in.sessions.begin(), in.sessions.end(), [](const auto& a, const auto& b) {
    return a.second->last_used() < b.second->last_used();
  });
  hook_session& silent = *oldest->second;
  // A coding agent reports the end of its session, and may continue its run until then.
  if (silent.dialect().reports_messages) {
    silent.close();
  } else if (silent.end()) {
    counts_.idle_runs.fetch_add(1);
  }
  in.sessions.erase(oldest);
  counts_.evicted.fetch_add(1);
  counts_.sessions.fetch_sub(1);
}

// ---- runs for which no call comes

// nullopt: no limit.
std::optional<milliseconds> hook_server::max_quiet_of(const hooks::dialect& as) const {
  const milliseconds configured(live_.now()->connections.quiet_ms), of_program(as.max_quiet_ms);
  if (configured.count() == 0 && of_program.count() == 0) return std::nullopt;
  if (configured.count() == 0 || of_program.count() == 0) return std::max(configured, of_program);
  return std::min(configured, of_program);
}

void hook_server::start_timer(table& in) {
  constexpr milliseconds min_wait{100}, max_wait{30'000};
  const milliseconds quiet(live_.now()->connections.quiet_ms);
  in.timer.expires_after(quiet.count() == 0 ? max_wait : std::clamp(quiet / 4, min_wait, max_wait));
  in.timer.async_wait([this, &in](boost::system::error_code ec) {
    if (ec || in.is_stopped) return;
    end_idle(in);
    end_abandoned(in, std::chrono::steady_clock::now());
    start_timer(in);
  });
}

void hook_server::end_idle(table& in) {
  const auto now = std::chrono::steady_clock::now();
  for (auto at = in.sessions.begin(); at != in.sessions.end();) {
    hook_session& session = *at->second;
    const auto quiet = max_quiet_of(session.dialect());
    if (!session.has_ended() && (!quiet || !session.is_idle() || now - session.last_used() < *quiet)) {
      ++at;
      continue;
    }
    if (!session.has_ended() && session.end()) counts_.idle_runs.fetch_add(1);
    at = in.sessions.erase(at);
    counts_.sessions.fetch_sub(1);
  }
}

void hook_server::end_abandoned(table& in, time_point now) {
  std::unordered_map<std::uint64_t, time_point> abandoned;
  std::vector<std::shared_ptr<run_host>> due;
  in.home.runs().each([&](run_host& host) {
    if (host.ended() || host.has_connections()) return;
    const hooks::dialect* as = dialect_of(host);
    const auto quiet = as == nullptr ? std::nullopt : max_quiet_of(*as);
    if (!quiet) return;
    const auto before = in.abandoned.find(host.number());
    const time_point since = before == in.abandoned.end() ? now : before->second;
    abandoned.emplace(host.number(), since);
    if (now - since >= *quiet) due.push_back(host.shared_from_this());
  });
  in.abandoned = std::move(abandoned);
  for (const auto& host : due) {
    host->end_abandoned();
    if (host->ended()) counts_.idle_runs.fetch_add(1);
  }
}

}  // namespace digd::daemon
