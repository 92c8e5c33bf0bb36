#include "daemon/fleet/home_keeper.h"

#include <spdlog/spdlog.h>
#include <algorithm>
#include <utility>

#include "base/entropy.h"
#include "base/quote.h"
#include "base/thread_name.h"

namespace digd::daemon {

namespace {

using std::chrono::milliseconds;

constexpr std::size_t name_digits = 16;
constexpr milliseconds min_request{100}, max_request{2'000};
constexpr int requests_a_lease = 4;

}  // namespace

home_time home_keeper::now() {
  return std::chrono::duration_cast<home_time>(std::chrono::steady_clock::now().time_since_epoch());
}

std::string home_keeper::open(const std::string& store_path, const std::string& archive_name, archive::archive& into,
                              std::int64_t published) {
  archive_name_ = archive_name;
  into_ = &into;
  published_ = published;
  if (archive::failure failed = store_.open(store_path, archive_name)) return failed.about(store_path);
  producer_ = into.make_producer();
  if (!producer_) return "the archive has no place for the fleet's restored runs";
  const host_lease::identity identity{settings_.tenant, settings_.host, settings_.url, archive_name_};
  lease_.emplace(identity, milliseconds(settings_.lease_ms), store_.incarnation(),
                 [] { return random_hex(name_digits); });
  return {};
}

void home_keeper::start(std::function<void()> on_change) {
  on_change_ = std::move(on_change);
  lease_thread_ = std::thread([this] {
    name_this_thread("fleet-lease");
    keep_lease();
  });
  search_thread_ = std::thread([this] {
    name_this_thread("fleet-homes");
    search_homes();
  });
  restore_thread_ = std::thread([this] {
    name_this_thread("fleet-restore");
    restore_runs();
  });
}

void home_keeper::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  for (std::thread* thread : {&lease_thread_, &search_thread_, &restore_thread_}) {
    if (thread->joinable()) thread->join();
  }
}

std::string home_keeper::problem() const {
  const std::lock_guard lock(mutex_);
  if (!lease_ || lease_->is_held(now())) return {};
  return problem_.empty() ? "this daemon has no lease in the fleet yet" : problem_;
}

void home_keeper::note_moved(std::uint64_t number) {
  store_.note_moved(number);  // the searching thread stores it
  ++counts_.moved_away;
}

void home_keeper::on_barrier(std::uint64_t ticket) {
  {
    const std::lock_guard lock(mutex_);
    passed_barrier_ = std::max(passed_barrier_, ticket);
  }
  wake_.notify_all();
}

void home_keeper::begin_drain() {
  draining_ = true;
  wake_.notify_all();
}

bool home_keeper::drain(milliseconds max_wait) {
  begin_drain();
  judge_until_ = 0;
  std::unique_lock lock(mutex_);
  if (!lease_ || !lease_thread_.joinable()) return true;
  lease_->drain();
  wake_.notify_all();
  const bool is_done = wake_.wait_for(lock, max_wait, [this] { return lease_->is_drained() || stopping_; });
  spdlog::info("fleet_drained complete={}", is_done);
  return is_done;
}

// ---- the lease

void home_keeper::keep_lease() {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    note_lease(lock);
    const home_time time = now();
    if (const auto request = lease_->next(time)) {
      const std::string incarnation = lease_->incarnation();
      lock.unlock();
      // Stored first, so that after a crash the next process continues with this incarnation.
      if (archive::failure failed = store_.set_incarnation(incarnation)) {
        spdlog::error("homes.db reason={}", digd::quoted(failed.words));
      }
      const bucket_reply reply = carry_out(*request);
      lock.lock();
      if (reply.is == bucket_reply::result::failed) ++counts_.renewals_failed;
      lease_->on_reply(reply, now());
      problem_ = lease_->problem();
      if (lease_->is_drained()) wake_.notify_all();
      continue;
    }
    if (lease_->is_drained()) {
      wake_.wait(lock, [this] { return stopping_.load(); });
      break;
    }
    home_time until = lease_->next_at();
    if (was_held_) until = std::min(until, lease_->judge_until());
    wake_.wait_for(lock, std::max(until - time, home_time(milliseconds(1))));
  }
}

// Only the lease's thread connects. The library restores a broken connection, but not one that it has closed.
bucket_reply home_keeper::carry_out(const bucket_request& request) {
  std::shared_ptr<bucket> at = connected();
  std::string problem;
  if (!at || at->is_closed() || failed_requests_ >= max_failures) at = connect_again(problem);
  if (!at) return {.is = bucket_reply::result::failed, .value = {}, .problem = problem};
  const bucket_reply reply = at->call(request);
  failed_requests_ = reply.is == bucket_reply::result::failed ? failed_requests_ + 1 : 0;
  return reply;
}

// Other threads use the earlier connection, so it stays until there is a new one.
std::shared_ptr<bucket> home_keeper::connect_again(std::string& problem) {
  failed_requests_ = 0;
  const milliseconds wait = std::clamp(milliseconds(settings_.lease_ms) / requests_a_lease, min_request, max_request);
  std::shared_ptr<bucket> made = connect_bucket(settings_, wait, problem);
  if (!made) return nullptr;
  std::shared_ptr<bucket> earlier;  // closes at the end, without the mutex, because this may take seconds
  {
    const std::lock_guard lock(mutex_);
    earlier = std::exchange(bucket_, made);
  }
  if (earlier) ++counts_.reconnects;
  return made;
}

std::shared_ptr<bucket> home_keeper::connected() const {
  const std::lock_guard lock(mutex_);
  return bucket_;
}

// Readers load `judge_until_` first, so they see a new generation before its lease.
void home_keeper::note_lease(std::unique_lock<std::mutex>& lock) {
  const std::uint64_t generation = lease_->generation();
  const bool is_held = lease_->is_held(now()) && !lease_->is_drained();
  const bool is_new = generation != generation_.load();
  if (is_new || !is_held) judge_until_.store(0, std::memory_order_release);
  if (is_new) generation_.store(generation, std::memory_order_release);
  if (is_held) judge_until_.store(lease_->judge_until().count(), std::memory_order_release);
  const bool was_held = std::exchange(was_held_, is_held);
  if (was_held == is_held && !is_new && !(is_held && check_again_.exchange(false))) return;
  if (was_held && !is_held && !draining_) {
    ++counts_.leases_lost;
    spdlog::warn("fleet_lease_lost reason={}", digd::quoted(problem_));
  } else if (is_held && (is_new || !was_held)) {
    spdlog::info("fleet_lease_held incarnation={} generation={}", lease_->incarnation(), generation);
  }
  if (draining_) return;  // the engine threads have stopped
  lock.unlock();
  wake_.notify_all();
  on_change_();
  lock.lock();
}

}  // namespace digd::daemon
