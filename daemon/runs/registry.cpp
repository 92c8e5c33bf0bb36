#include "daemon/runs/registry.h"

#include <spdlog/spdlog.h>
#include <algorithm>
#include <boost/asio/post.hpp>
#include <utility>

#include "base/quote.h"
#include "daemon/fleet/home_keeper.h"
#include "daemon/runs/engine_loop.h"
#include "daemon/runs/read_back.h"
#include "daemon/runs/token_weights.h"

namespace digd::daemon {

namespace {

void refuse(const join_request& request, std::string_view field, std::string text) {
  join_result result;
  result.refused.consider(refusal::over_limit, field, std::move(text));
  answer(request, std::move(result));
}

}  // namespace

registry::registry(engine_loop& owner) : owner_(owner) {}
registry::~registry() = default;

home_keeper* registry::homes() const { return owner_.services().homes.get(); }

void registry::join(join_request&& request) {
  const std::string& name = request.greeting.run;
  if (const auto live = by_name_.find(name); live != by_name_.end()) {
    const auto host = live->second;
    return host->join(std::move(request));
  }
  if (const auto waiting = rebuilding_.find(name); waiting != rebuilding_.end()) {
    return wait_for(waiting->second, std::move(request));
  }
  if (owner_.services().storage.archive == nullptr) return open(std::move(request));
  search_for(std::move(request));
}

void registry::open(join_request&& request, const home_answer* home) {
  const auto settings = owner_.services().conditions.settings.now();
  if (refuse_at_limit(request, *settings)) return;
  ticket_ptr counted;
  if (request.grant && !(counted = request.grant->take_run())) {
    owner_.counts().runs_of_token_refused.add();
    return refuse(request, "run", "the token has reached its max_runs of open runs");
  }
  const hello first = request.greeting;
  const run_settings granted = effective_settings(first, settings->policy);
  if (first.agents && first.agents->size() > granted.limits.agents) {
    owner_.counts().limits[limit_id::agents].add();
    return refuse(request, "agents", too_many_agents(granted.limits.agents));
  }
  const std::shared_ptr<run_host> host = make_run(first, granted, *settings, home);
  if (request.grant) host->opened_by(request.grant->name(), std::move(counted));
  host->go_live({}, &first);
  owner_.counts().runs_opened.add();
  spdlog::info("run_open run={} number={} thread={} mode={} clock={}", digd::quoted(first.run), host->number(),
               owner_.index(), to_string(host->inbox().run().settings().mode),
               to_string(host->inbox().run().settings().clock));
  host->join(std::move(request));
}

// Refuses a new run at a limit of the daemon, or at the limit of the token's bytes in the archive. Returns whether it
// refused.
bool registry::refuse_at_limit(const join_request& request, const config& settings) {
  const overload_state& overload = owner_.services().conditions.overload;
  const std::string token = request.grant ? request.grant->name() : std::string();
  std::string problem;
  const auto cause = overload.cause_of(overload_action::no_new_runs);
  if (cause && overload.is_on_for(overload_action::no_new_runs, token)) {
    owner_.counts().runs_refused.add();
    problem = "the daemon opens no runs now, because it is short of " + std::string(to_string(*cause));
  } else if (owner_.services().counts.open.load() >= settings.runs) {
    owner_.counts().runs_refused.add();
    problem = "the daemon has " + std::to_string(settings.runs) + " open runs, its limit";
  } else if (overload.is_full(token)) {
    owner_.counts().limits[limit_id::bytes_of_token].add();
    problem = "the token's runs have more bytes in the archive than its max_bytes";
  }
  if (problem.empty()) return false;
  refuse(request, "run", std::move(problem));
  return true;
}

// Makes a new run and adds it to this thread's runs.
std::shared_ptr<run_host> registry::make_run(const hello& first, run_settings granted, const config& settings,
                                             const home_answer* home) {
  const run_services& services = owner_.services();
  const std::uint64_t number = home != nullptr ? home->number : services.next_run_number();
  const mode strongest = services.conditions.operator_mode.load();
  const canary_group group = draw_canary(first, settings.policy, settings.enforce_share, strongest);
  granted.mode = mode_in(group, granted.mode);
  auto host = std::make_shared<run_host>(owner_, *this, first, granted, number, group);
  if (home != nullptr) host->set_home(home->generation, home->pinned);
  adopt(host);
  if (home != nullptr) settle_home(*host);
  return host;
}

std::shared_ptr<run_host> registry::find(std::uint64_t number) const {
  const auto found = by_number_.find(number);
  return found == by_number_.end() ? nullptr : found->second;
}

std::shared_ptr<run_host> registry::find(const std::string& name) const {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? nullptr : found->second;
}

void registry::adopt(std::shared_ptr<run_host> host) {
  host->inbox().set_scratch(owner_.scratch());  // only now: the run may have been read back on another thread
  host->start_clock();
  owner_.services().storage.acks.add(host->number(), owner_.index());
  if (!host->ended()) owner_.services().counts.open.fetch_add(1);
  owner_.counts().runs_loaded.add();
  by_number_[host->number()] = host;
  by_name_[host->name()] = std::move(host);
}

void registry::ended(run_host& host, run_outcome outcome) {
  owner_.services().counts.open.fetch_sub(1);
  owner_.counts().runs_ended.add();
  const digd::run& run = host.inbox().run();
  spdlog::info("run_ended run={} number={} outcome={} detections={} healed={}", digd::quoted(host.name()),
               host.number(), to_string(outcome), run.detections(), run.healed());
}

void registry::retire_if_idle(run_host& host) {
  if (!host.can_retire()) return;
  const auto keep = host.shared_from_this();
  owner_.watch(host, std::nullopt);
  owner_.services().storage.acks.remove(host.number());
  owner_.counts().runs_unloaded.add();
  by_number_.erase(host.number());
  by_name_.erase(host.name());
}

// ---- the operator

bool registry::remove_loaded(const std::string& name, removal& result) {
  if (rebuilding_.contains(name)) {
    result.outcome = removal::result::busy;
    return true;
  }
  const auto live = by_name_.find(name);
  if (live == by_name_.end()) return false;
  const std::shared_ptr<run_host> host = live->second;
  if (homes() != nullptr) homes()->forget(name, host->number());
  forget(*host);
  result = {removal::result::removed, host->number()};
  return true;
}

void registry::remove(const std::string& name, std::function<void(removal)> done) {
  removal result;
  if (remove_loaded(name, result) || owner_.services().storage.archive == nullptr) return done(result);
  if (!can_search()) return done({removal::result::busy});
  search(name, [this, name, done = std::move(done)](search_result number) {
    removal result;
    if (remove_loaded(name, result)) return done(result);  // it was opened meanwhile
    if (!number) {
      result.outcome = removal::result::busy;
    } else if (*number != 0) {
      if (homes() != nullptr) homes()->forget(name, *number);
      removed_.insert(*number);
      result = {removal::result::removed, *number};
    }
    done(result);
  });
}

void registry::erased(std::uint64_t number) {
  erased_.push_back({number, searches_begun_});
  forget_erased();
}

registry::removal::result registry::remove_unused(const std::string& name, std::uint64_t number,
                                                  std::optional<milliseconds> quiet_since) {
  if (rebuilding_.contains(name)) return removal::result::busy;
  const auto remove_home = [&] {
    if (homes() != nullptr) homes()->forget(name, number);
  };
  const std::shared_ptr<run_host> host = find(number);
  if (!host) {
    remove_home();
    removed_.insert(number);
    return removal::result::removed;
  }
  const bool is_quiet = quiet_since && host->last_heard_ms() < *quiet_since;
  if (host->has_connections() || (!host->ended() && !is_quiet)) return removal::result::busy;
  remove_home();
  forget(*host);
  return removal::result::removed;
}

// The caller holds `host`.
void registry::forget(run_host& host) {
  if (owner_.records().is_on()) removed_.insert(host.number());
  host.close_deleted();
  drop(host);
}

// Takes the run out of memory. The caller holds `host`.
void registry::drop(run_host& host) {
  owner_.watch(host, std::nullopt);
  owner_.services().storage.acks.remove(host.number());
  if (!host.ended()) owner_.services().counts.open.fetch_sub(1);
  owner_.counts().runs_unloaded.add();
  by_number_.erase(host.number());
  by_name_.erase(host.name());
}

void registry::weigh(std::map<std::string, token_weight>& weights) const {
  for (const auto& [name, host] : by_name_) {
    const std::uint64_t bytes = host->memory_bytes();
    token_weight& weight = weights[host->opener()];
    weight.bytes += bytes;
    if (host->can_degrade()) weight.largest_run = std::max(weight.largest_run, bytes);
  }
}

void registry::degrade_heaviest(const std::string& token, std::uint64_t least, std::uint64_t wanted) {
  std::vector<std::shared_ptr<run_host>> heavy;
  for (const auto& [name, host] : by_name_) {
    if (host->opener() == token && host->can_degrade() && host->memory_bytes() >= least) heavy.push_back(host);
  }
  std::sort(heavy.begin(), heavy.end(),
            [](const auto& a, const auto& b) { return a->memory_bytes() > b->memory_bytes(); });
  std::uint64_t freed = 0;
  for (const auto& host : heavy) {
    freed += host->memory_bytes();
    host->degrade();
    if (freed >= wanted) return;
  }
}

void registry::resume_one() {
  for (const auto& [name, host] : by_name_) {
    if (host->can_resume()) return std::shared_ptr(host)->resume_judging();
  }
}

std::size_t registry::follow_operator() {
  const mode strongest = owner_.services().conditions.operator_mode.load();
  std::vector<std::shared_ptr<run_host>> hosts;  // a copy: a switch may change the map
  for (const auto& [name, host] : by_name_) hosts.push_back(host);
  std::size_t changed = 0;
  for (const auto& host : hosts) changed += host->follow_operator(strongest);
  return changed;
}

// ---- search of the archive

void registry::search(const std::string& name, std::function<void(search_result)> then) {
  ++searches_begun_;
  boost::asio::post(owner_.services().storage.finder, [this, name, then = std::move(then)]() mutable {
    auto numbers = owner_.services().storage.archive->numbers_of(name);
    boost::asio::post(owner_.context(), [this, numbers = std::move(numbers), then = std::move(then)] {
      then(numbers ? search_result(latest_of(*numbers)) : search_result(numbers.error()));
      ++searches_done_;
      forget_erased();
    });
  });
}

std::uint64_t registry::latest_of(const std::vector<std::uint64_t>& numbers) const {
  for (const std::uint64_t number : numbers) {
    const bool is_left_out = homes() != nullptr && homes()->is_left_out(number);
    if (!is_left_out && !removed_.contains(number)) return number;
  }
  return 0;
}

void registry::search_for(join_request&& request) {
  if (!can_search()) return refuse(request, "run", "too many clients wait until digd has found their run; try again");
  std::string name = request.greeting.run;
  pending_run& pending = rebuilding_[name];
  pending.run.run = name;
  pending.is_reading = true;
  pending.requests.push_back(std::move(request));
  ++searched_;
  search(name, [this, name](search_result number) { found(name, number); });
}

void registry::found(const std::string& name, search_result number) {
  --searched_;
  const auto waiting = rebuilding_.find(name);
  if (waiting == rebuilding_.end()) return;
  pending_run& pending = waiting->second;
  const bool has_clients = !pending.requests.empty();
  const std::size_t max_unfinished = homes() != nullptr ? max_waiting : max_rebuilding;
  const bool is_stored = homes() != nullptr || (number && *number != 0);
  if (has_clients && number && is_stored && rebuilding_.size() - expected_left_ - searched_ <= max_unfinished) {
    pending.run.number = *number;
    pending.is_reading = false;
    if (homes() != nullptr) return ask_home(name, pending.run.number);
    return read(pending);
  }
  std::vector<join_request> requests = std::move(pending.requests);
  rebuilding_.erase(waiting);
  if (!has_clients) return;  // all have left
  if (!number) return refuse_all(requests, "the archive cannot be read; try again");
  if (is_stored) return refuse_all(requests, "too many runs are being read back; try again");
  open_all(std::move(requests), nullptr);
}

void registry::forget_erased() {
  while (!erased_.empty() && erased_.front().searches_begun <= searches_done_) {
    removed_.erase(erased_.front().number);
    erased_.pop_front();
  }
}

// ---- reading back

void registry::expect(archive::stored_run run) {
  recovery_progress& progress = owner_.services().counts.recovery;
  progress.found.fetch_add(1);
  owner_.services().counts.open.fetch_add(1);
  expected_.push_back(run.run);
  ++expected_left_;
  std::string name = run.run;
  rebuilding_.insert_or_assign(std::move(name), pending_run{.run = std::move(run), .is_expected = true});
}

void registry::recover_next() {
  while (!wanted_.empty() || !expected_.empty()) {
    std::deque<std::string>& from = wanted_.empty() ? expected_ : wanted_;
    const auto found = rebuilding_.find(from.front());
    from.pop_front();
    if (found != rebuilding_.end() && !found->second.is_reading) return read(found->second);
  }
}

void registry::wait_for(pending_run& pending, join_request&& request) {
  auto& requests = pending.requests;
  if (requests.size() >= max_waiting) {
    std::erase_if(requests, [](const join_request& waiting) { return waiting.client.expired(); });
  }
  if (requests.size() >= max_waiting) return refuse(request, "run", "too many clients wait for this run; try again");
  if (!pending.is_wanted && !pending.is_reading) wanted_.push_back(pending.run.run);
  pending.is_wanted = true;
  requests.push_back(std::move(request));
}

// In a fleet with homes, the first hello opens the run even if its client has left: the fleet may already know this
// daemon as the run's home.
void registry::withdraw(const std::string& run, const std::weak_ptr<run_client>& client) {
  const auto waiting = rebuilding_.find(run);
  if (waiting == rebuilding_.end()) return;
  auto& requests = waiting->second.requests;
  const auto is_of_client = [&](const join_request& request) {
    return !request.client.owner_before(client) && !client.owner_before(request.client);
  };
  const bool keeps_first = homes() != nullptr && !requests.empty();
  requests.erase(std::remove_if(requests.begin() + (keeps_first ? 1 : 0), requests.end(), is_of_client),
                 requests.end());
}

void registry::read(pending_run& pending) {
  pending.is_reading = true;
  boost::asio::post(owner_.services().storage.rebuilder, [this, run = pending.run] {
    recovered_run result = read_back(owner_, *this, *owner_.services().storage.archive, run);
    if (owner_.services().counts.recovery.stopping) return;
    boost::asio::post(owner_.context(), [this, name = run.run, result = std::move(result)]() mutable {
      rebuilt(name, std::move(result));
    });
  });
}

void registry::rebuilt(const std::string& name, recovered_run&& result) {
  const auto waiting = rebuilding_.find(name);
  if (waiting == rebuilding_.end()) return;
  pending_run& pending = waiting->second;
  if (homes() != nullptr && !pending.home && result.host) {
    pending.read = std::make_unique<recovered_run>(std::move(result));
    ask_home(name, pending.run.number);
    return recover_next();
  }
  pending_run done = std::move(pending);
  rebuilding_.erase(waiting);
  const bool was_expected = done.is_expected && !done.read;
  take_in(std::move(done), std::move(result));
  if (was_expected) recover_next();
}

// A run that was read back, or could not be, becomes one of this thread's.
void registry::take_in(pending_run&& pending, recovered_run&& result) {
  const std::string& name = pending.run.run;
  const std::shared_ptr<run_host> host = std::move(result.host);
  if (pending.is_expected) count_recovered(host == nullptr);
  if (!host) {
    spdlog::error("{} run={} number={} reason={}", pending.is_expected ? "recovery_failed" : "rebuild_failed",
                  digd::quoted(name), pending.run.number, digd::quoted(result.problem));
    return refuse_all(pending.requests, "the run cannot be read back from the archive");
  }
  if (pending.home) host->set_home(pending.home->generation, pending.home->pinned);
  adopt(host);
  if (homes() != nullptr) settle_home(*host);
  for (const recovered_run::unpublished& message : result.unpublished_messages) {
    if (message.entry <= homes()->published()) host->streamed(message.session, message.seq);
  }
  if (result.has_older_semantics) host->adopt_semantics();
  // The operator's switch ended with the last process, or changed while the run was read back.
  static_cast<void>(host->follow_operator(owner_.services().conditions.operator_mode.load()));
  host->watch_due();
  for (join_request& request : pending.requests) host->join(std::move(request));
  retire_if_idle(*host);
}

void registry::refuse_all(std::vector<join_request>& requests, const std::string& problem) {
  for (join_request& request : requests) refuse(request, "run", problem);
}

// The run was counted as open when it was found. `adopt` counts it itself.
void registry::count_recovered(bool failed) {
  run_counts& counts = owner_.services().counts;
  --expected_left_;
  counts.open.fetch_sub(1);
  recovery_progress& progress = counts.recovery;
  if (failed) progress.failed.fetch_add(1);
  if (progress.done.fetch_add(1) + 1 < progress.found.load()) return;
  spdlog::info("recovered runs={} failed={}", progress.found.load() - progress.failed.load(), progress.failed.load());
}

}  // namespace digd::daemon
