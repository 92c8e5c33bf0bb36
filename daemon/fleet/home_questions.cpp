// The searching and the restoring thread of home_keeper.h.
#include <spdlog/spdlog.h>
#include <algorithm>
#include <utility>

#include "base/quote.h"
#include "daemon/fleet/home_keeper.h"

namespace digd::daemon {

namespace {

using std::chrono::milliseconds;

constexpr milliseconds lease_poll{20};  // of a question that waits for the lease
constexpr std::chrono::seconds idle_check{1}, max_barrier_wait{30};
constexpr std::size_t max_not_restored = 1'000;

home_answer unavailable(std::string problem) {
  home_answer answer;
  answer.problem = std::move(problem);
  return answer;
}

}  // namespace

void home_keeper::ask(const std::string& run, std::uint64_t number, answer_handler answer) {
  std::unique_lock lock(mutex_);
  if (stopping_ || questions_.size() >= max_questions) {
    lock.unlock();
    ++counts_.refused;
    return answer(unavailable(stopping_ ? "digd stops" : "too many runs ask for their homes"));
  }
  questions_.push_back({.run = run, .number = number, .answer = std::move(answer), .asked_at = now()});
  ++counts_.waiting;
  lock.unlock();
  wake_.notify_all();
}

std::optional<home_place> home_keeper::look_up(const std::string& run) const {
  const std::shared_ptr<bucket> at = connected();
  if (!at) return std::nullopt;
  const auto home = read_home(*at, run);
  if (!home) return std::nullopt;
  const bucket_reply host = at->call({.key = host_key(settings_.tenant, home->host), .value = {}});
  const auto lease = host.is == bucket_reply::result::ok ? host_record_of(host.value) : std::nullopt;
  return home_place{.host = home->host,
                    .url = lease ? lease->url : std::string(),
                    .epoch = home->epoch,
                    .pinned = home->pinned,
                    .is_here = home->archive == archive_name_};
}

std::optional<run_record> home_keeper::read_home(bucket& at, const std::string& run, std::uint64_t* revision) const {
  const bucket_reply found = at.call({.key = run_key(settings_.tenant, run), .value = {}});
  if (revision != nullptr) *revision = found.revision;
  return found.is == bucket_reply::result::ok ? run_record_of(found.value) : std::nullopt;
}

void home_keeper::forget(const std::string& run, std::uint64_t number) {
  {
    const std::lock_guard lock(mutex_);
    if (forgotten_.size() >= max_questions) return;  // the key stays, and a later question finds that the run is gone
    forgotten_.push_back({.run = run, .number = number});
  }
  wake_.notify_all();
}

// ---- the searching thread

void home_keeper::search_homes() {
  while (!stopping_) {
    save_moved();
    remove_forgotten();
    {
      std::unique_lock lock(mutex_);
      home_time until = now() + home_time(idle_check);
      for (const question& asked : active_) until = std::min(until, asked.next_at);
      wake_.wait_for(lock, std::max(until - now(), home_time{0}), [this] {
        return stopping_ || (!questions_.empty() && active_.size() < max_active) ||
               (!forgotten_.empty() && bucket_ && now() >= next_removal_);
      });
      while (!questions_.empty() && active_.size() < max_active) {
        active_.push_back(std::move(questions_.front()));
        questions_.pop_front();
      }
    }
    for (auto at = active_.begin(); at != active_.end() && !stopping_;) {
      at = at->next_at <= now() && step(*at) ? active_.erase(at) : std::next(at);
    }
  }
  save_moved();
}

// True: the question is answered, or has been handed on.
bool home_keeper::step(question& asked) {
  home_search::step now_at;
  if (asked.is_resumed) {
    now_at = asked.search->resume(now());
    asked.is_resumed = false;
  } else if (!begin_search(asked, now_at)) {
    return asked.answer == nullptr;
  }
  const std::shared_ptr<bucket> at = connected();
  while (now_at.is == home_search::step::kind::request) {
    now_at = asked.search->on_reply(at->call(now_at.request), now());
  }
  if (now_at.is == home_search::step::kind::done) return finish(asked, now_at.decision);
  asked.is_resumed = true;
  asked.next_at = now_at.wait_until;
  return false;
}

// False: it waits for the lease, or has been answered.
bool home_keeper::begin_search(question& asked, home_search::step& first) {
  home_taker self{.tenant = settings_.tenant,
                  .host = settings_.host,
                  .url = settings_.url,
                  .archive = archive_name_,
                  .incarnation = {},
                  .pins = settings_.pins_runs(),
                  .may_take = !draining_};
  std::string problem;
  {
    const std::lock_guard lock(mutex_);
    if (bucket_ && (lease_->is_held(now()) || draining_)) {
      self.incarnation = lease_->incarnation();
      asked.generation = lease_->generation();
    } else {
      problem = problem_;
    }
    if (const auto bad = not_restored_.find(asked.run); bad != not_restored_.end()) {
      if (now() - bad->second.first < home_time(retry_restore)) problem = bad->second.second;
    }
  }
  if (self.incarnation.empty() || !problem.empty()) {
    if (now() - asked.asked_at < home_time(max_lease_wait) && self.incarnation.empty()) {
      asked.next_at = now() + home_time(lease_poll);
      return false;
    }
    reply(asked, unavailable("the fleet: " + (problem.empty() ? "no lease" : problem)));
    return false;
  }
  const auto before = elsewhere_.find(asked.run);
  const home_time recent = 2 * host_watch::wait_of(milliseconds(settings_.lease_ms));
  const home_question search{.run = asked.run,
                             .number = asked.number,
                             .new_number = into_->next_run_number(),
                             .start = stream_end_.load(),
                             .was_elsewhere = before != elsewhere_.end() && now() - before->second < recent};
  asked.search = std::make_unique<home_search>(std::move(self), search, hosts_);
  first = asked.search->begin(now());
  return true;
}

bool home_keeper::finish(question& asked, const home_decision& decision) {
  using kind = home_decision::kind;
  const bool is_here = decision.is == kind::opened || decision.is == kind::kept || decision.is == kind::taken;
  if (is_here && asked.generation != generation()) {  // the lease ended meanwhile: the home does not count
    asked.search.reset();
    return false;
  }
  if (decision.is == kind::taken) {
    spdlog::info("home_taken run={} epoch={} number={}", digd::quoted(asked.run), decision.home.epoch,
                 decision.home.number);
    {
      const std::lock_guard lock(mutex_);
      taken_.push_back({std::move(asked), decision.home});
    }
    wake_.notify_all();
    return true;
  }
  // A daemon with a local copy also searches the home when no client waits: after a start, or with a new lease.
  if (decision.is == kind::elsewhere && asked.number == 0) {
    if (elsewhere_.size() >= max_elsewhere) {
      elsewhere_.erase(std::min_element(elsewhere_.begin(), elsewhere_.end(),
                                        [](const auto& a, const auto& b) { return a.second < b.second; }));
    }
    elsewhere_[asked.run] = now();
  }
  reply(asked, {.is = decision.is,
                .number = decision.home.number,
                .generation = asked.generation,
                .pinned = decision.home.pinned,
                .url = decision.url,
                .problem = decision.problem});
  return true;
}

void home_keeper::reply(question& asked, home_answer&& answer) {
  switch (answer.is) {
    case home_decision::kind::opened: ++counts_.opened; break;
    case home_decision::kind::kept: ++counts_.kept; break;
    case home_decision::kind::taken: ++counts_.taken; break;
    case home_decision::kind::elsewhere: ++counts_.elsewhere; break;
    case home_decision::kind::unavailable: ++counts_.unavailable; break;
  }
  --counts_.waiting;
  std::exchange(asked.answer, nullptr)(std::move(answer));
}

void home_keeper::save_moved() {
  if (archive::failure failed = store_.save_moved()) spdlog::error("homes.db reason={}", digd::quoted(failed.words));
}

void home_keeper::remove_forgotten() {
  const std::shared_ptr<bucket> at = connected();
  while (at && !stopping_ && now() >= next_removal_) {
    forgotten_run gone;
    {
      const std::lock_guard lock(mutex_);
      if (forgotten_.empty()) return;
      gone = std::move(forgotten_.front());
      forgotten_.pop_front();
    }
    if (remove_home(*at, gone)) continue;
    next_removal_ = now() + home_time(retry_removal);
    const std::lock_guard lock(mutex_);
    if (forgotten_.size() < max_questions)
      forgotten_.push_back(std::move(gone));  // behind the others, which need not wait for it
  }
}

// True: the run's key no longer names the deleted copy. A failure is logged once for each run. All runs then wait for
// `retry_removal`, which limits the rate of these lines.
bool home_keeper::remove_home(bucket& at, forgotten_run& gone) const {
  const std::string key = run_key(settings_.tenant, gone.run);
  const bucket_reply found = at.call({.key = key, .value = {}});
  if (found.is == bucket_reply::result::failed) return false;
  const auto home = found.is == bucket_reply::result::ok ? run_record_of(found.value) : std::nullopt;
  if (!home || home->archive != archive_name_ || home->number != gone.number) return true;
  const std::string problem = at.remove(key, found.revision);
  if (problem.empty()) return true;
  if (!std::exchange(gone.is_logged, true)) {
    spdlog::warn("home_kept run={} reason={}", digd::quoted(gone.run), digd::quoted(problem));
  }
  return false;
}

// ---- the restoring thread

void home_keeper::restore_runs() {
  std::unique_ptr<stream> from;
  while (!stopping_) {
    remove_incomplete();
    std::vector<taken_run> runs;
    {
      std::unique_lock lock(mutex_);
      wake_.wait_for(lock, idle_check, [this] { return stopping_ || !taken_.empty(); });
      while (!taken_.empty() && runs.size() < restorer::max_runs) {
        runs.push_back(std::move(taken_.front()));
        taken_.pop_front();
      }
    }
    std::string problem;
    from = keep_stream(std::move(from), problem);
    if (runs.empty()) continue;
    if (!from) {
      for (taken_run& taken : runs) reply(taken.asked, unavailable("the fleet: " + problem));
      continue;
    }
    restore(runs, *from);
  }
}

// Returns `from`, or a new connection if `from` is null, closed or failing. Null: `problem` says why.
std::unique_ptr<stream> home_keeper::keep_stream(std::unique_ptr<stream> from, std::string& problem) {
  if (from && (from->is_closed() || failed_reads_ >= max_failures)) {
    from.reset();
    ++counts_.reconnects;
  }
  if (!from) {
    failed_reads_ = 0;
    from = connect_stream(settings_, problem);
  }
  if (!from) return nullptr;
  stream_bounds bounds;
  if (from->read_bounds(bounds).empty()) {
    stream_end_ = bounds.last;
    failed_reads_ = 0;
  } else {
    ++failed_reads_;
  }
  return from;
}

restorer home_keeper::make_restorer() {
  return {*into_,
          *producer_,
          store_,
          archive_name_,
          [this] { return wait_until_durable(); },
          [this] { return stopping_.load(); }};
}

void home_keeper::remove_incomplete() {
  if (const std::string problem = make_restorer().remove_incomplete(); !problem.empty() && !stopping_) {
    spdlog::warn("home_part_kept reason={}", digd::quoted(problem));
  }
}

void home_keeper::restore(std::vector<taken_run>& runs, stream& from) {
  restorer work = make_restorer();
  std::vector<run_record> homes;
  homes.reserve(runs.size());
  for (const taken_run& taken : runs) homes.push_back(taken.home);
  const auto begun = now();
  const std::vector<restorer::result> results = work.restore(from, homes);
  for (std::size_t i = 0; i < runs.size(); ++i) {
    taken_run& taken = runs[i];
    const restorer::result& done = results[i];
    if (!done.problem.empty()) {
      ++counts_.failed_restores;
      spdlog::error("home_not_restored run={} reason={}", digd::quoted(taken.asked.run), digd::quoted(done.problem));
      {
        const std::lock_guard lock(mutex_);
        if (not_restored_.size() >= max_not_restored) not_restored_.clear();
        not_restored_[taken.asked.run] = {now(), "the run could not be restored: " + done.problem};
      }
      reply(taken.asked, unavailable("the run could not be restored: " + done.problem));
      continue;
    }
    if (done.entries == 0) {
      begin_again(taken, done.marker);
      continue;
    }
    counts_.restored_entries += done.entries;
    spdlog::info("home_restored run={} number={} entries={} ms={}", digd::quoted(taken.asked.run), taken.home.number,
                 done.entries, std::chrono::duration_cast<milliseconds>(now() - begun).count());
    reply(taken.asked, {.is = home_decision::kind::taken,
                        .number = taken.home.number,
                        .generation = taken.asked.generation,
                        .pinned = taken.home.pinned});
  }
}

// The stream has nothing of the run: it was deleted, or its first home never archived it. It gets a new identity.
void home_keeper::begin_again(taken_run& taken, std::uint64_t start) {
  const std::shared_ptr<bucket> at = connected();
  std::uint64_t revision = 0;
  const auto home = read_home(*at, taken.asked.run, &revision);
  if (!home || *home != taken.home) return reply(taken.asked, unavailable("another daemon took the run"));
  run_record fresh = taken.home;
  fresh.number = into_->next_run_number();
  fresh.epoch = 1;
  fresh.origin_archive = archive_name_;
  fresh.origin_number = fresh.number;
  fresh.start = start;
  const bucket_reply written = at->call({.is = bucket_request::kind::write,
                                         .key = run_key(settings_.tenant, taken.asked.run),
                                         .value = encode(fresh),
                                         .expected = revision});
  if (written.is != bucket_reply::result::ok) return reply(taken.asked, unavailable("the fleet: " + written.problem));
  reply(taken.asked, {.is = home_decision::kind::opened,
                      .number = fresh.number,
                      .generation = taken.asked.generation,
                      .pinned = fresh.pinned});
}

// Waits until the entries that the restoring thread pushed are durable. Empty, or a problem in words.
std::string home_keeper::wait_until_durable() {
  std::uint64_t ticket = 0;
  {
    const std::lock_guard lock(mutex_);
    ticket = ++last_barrier_;
  }
  auto barrier = std::make_unique<archive::entry>();
  barrier->kind = archive::entry_kind::barrier;
  barrier->seq = ticket;
  while (!producer_->try_push(barrier)) {
    if (stopping_) return "digd stops";
    std::this_thread::sleep_for(restorer::retry_push);
  }
  std::unique_lock lock(mutex_);
  const bool is_over = wake_.wait_for(lock, max_barrier_wait, [&] { return stopping_ || passed_barrier_ >= ticket; });
  if (!is_over) {
    return "the archive did not store the entries within " + std::to_string(max_barrier_wait.count()) + " s";
  }
  return passed_barrier_ >= ticket ? std::string() : "digd stops";
}

}  // namespace digd::daemon
