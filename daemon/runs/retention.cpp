#include "daemon/runs/retention.h"

#include <spdlog/spdlog.h>
#include <boost/asio/post.hpp>
#include <utility>

#include "base/quote.h"
#include "base/thread_name.h"
#include "base/unix_time.h"
#include "daemon/runs/engine_threads.h"
#include "daemon/runs/run_eraser.h"

namespace digd::daemon {

namespace {

constexpr std::int64_t day_ms = 24LL * 3600 * 1000;

// Nothing if the archive cannot be read: the next round tries again.
template <class T>
std::vector<T> or_none(boost::system::result<std::vector<T>> found) {
  return found ? std::move(*found) : std::vector<T>{};
}

}  // namespace

std::string_view to_string(retention::reason reason) {
  constexpr std::string_view names[] = {"age", "idle", "size"};
  return names[static_cast<std::size_t>(reason)];
}

// A deletion in progress. Shared, because the deleting thread may outlive the waiting one.
struct retention::attempt {
  std::mutex mutex;
  std::condition_variable settled;
  enum class state : std::uint8_t { pending, gone, in_use } now = state::pending;

  void settle(state to) {
    {
      const std::lock_guard hold(mutex);
      now = to;
    }
    settled.notify_all();
  }
};

void retention::start() {
  thread_ = std::thread([this] {
    name_this_thread("retention");
    work();
  });
}

void retention::stop() {
  {
    const std::lock_guard hold(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void retention::check_soon() {
  {
    const std::lock_guard hold(mutex_);
    has_work_ = true;
  }
  wake_.notify_all();
}

void retention::pause() {
  std::unique_lock hold(mutex_);
  wake_.wait_for(hold, check_interval, [this] { return stopping_ || has_work_; });
  has_work_ = false;
}

void retention::work() {
  for (;;) {
    {
      const std::lock_guard hold(mutex_);
      if (stopping_) return;
    }
    const retention_settings settings = settings_.now()->retention;
    if (settings.bytes == 0) counted_.over_bytes = 0;
    if (settings == retention_settings{} || !open_archive() || !delete_one(settings)) pause();
  }
}

bool retention::open_archive() {
  if (reads_) return true;
  std::string problem;
  if (auto opened = archive::browser::open(archive_path_, &problem)) reads_ = std::move(*opened);
  if (!reads_ && !std::exchange(logged_unreadable_, true))
    spdlog::error("retention_cannot_read reason={}", digd::quoted(problem));
  return reads_ != nullptr;
}

bool retention::delete_one(const retention_settings& settings) {
  const std::int64_t now = unix_ms();
  const std::int64_t kept_since = now - static_cast<std::int64_t>(settings.days) * day_ms;
  if (settings.days > 0 && delete_oldest_ended(reason::age, kept_since)) return true;
  if (settings.idle_days > 0) {
    const std::int64_t before = now - static_cast<std::int64_t>(settings.idle_days) * day_ms;
    if (delete_first_unused(or_none(reads_->quiet_since(before, max_candidates)), reason::idle, before)) return true;
  }
  return settings.bytes > 0 && delete_for_size(settings.bytes);
}

bool retention::delete_for_size(std::uint64_t limit) {
  const auto used = reads_->used_bytes();
  if (!used) return false;
  const std::uint64_t over = *used > limit ? *used - limit : 0;
  if (over > 0 && delete_oldest_ended(reason::size)) return true;
  if (over > 0 && counted_.over_bytes == 0) {
    spdlog::warn("retention_cannot_free used={} limit={}: no run that has ended can be deleted", *used, limit);
  }
  counted_.over_bytes = over;
  return false;
}

// Continues past runs that are in use, so that a client with many ended runs does not keep others from being deleted.
bool retention::delete_oldest_ended(reason cause, std::optional<milliseconds> ended_before) {
  archive::ended_run after;
  for (;;) {
    auto oldest = or_none(reads_->oldest_ended(max_candidates, after));
    if (ended_before) {
      std::erase_if(oldest, [&](const archive::run_row& run) { return run.ended_ms.value_or(0) >= *ended_before; });
    }
    if (oldest.empty()) return false;
    after = {oldest.back().ended_ms.value_or(0), oldest.back().number};
    if (delete_first_unused(oldest, cause)) return true;
  }
}

bool retention::delete_first_unused(const std::vector<archive::run_row>& candidates, reason cause,
                                    std::optional<milliseconds> quiet_since) {
  for (const archive::run_row& run : candidates) {
    if (delete_run(run, cause, quiet_since)) return true;
  }
  return false;
}

// Asks the run's engine thread to forget the run, and waits until nothing of it is stored. False: the run is in use.
bool retention::delete_run(const archive::run_row& run, reason cause, std::optional<milliseconds> quiet_since) {
  const auto trying = std::make_shared<attempt>();
  engine_thread& owner = threads_.owner_of(run.run);
  boost::asio::post(owner.context(), [&eraser = eraser_, &owner, run, quiet_since, trying] {
    const auto removed = owner.runs().remove_unused(run.run, run.number, quiet_since);
    if (removed != registry::removal::result::removed) return trying->settle(attempt::state::in_use);
    eraser.erase(owner, run.number, [trying] { trying->settle(attempt::state::gone); });
  });
  std::unique_lock hold(trying->mutex);
  const auto is_settled = [&] { return trying->now != attempt::state::pending; };
  while (!trying->settled.wait_for(hold, std::chrono::milliseconds(100), is_settled)) {
    const std::lock_guard also(mutex_);
    if (stopping_) return true;  // the archive continues the deletion after the next start
  }
  if (trying->now == attempt::state::in_use) return false;
  const auto i = static_cast<std::size_t>(cause);
  counted_.runs[i].fetch_add(1);
  counted_.bytes[i].fetch_add(run.bytes);
  spdlog::info("retention_deleted run={} number={} reason={} bytes={}", digd::quoted(run.run), run.number,
               to_string(cause), run.bytes);
  return true;
}

}  // namespace digd::daemon
