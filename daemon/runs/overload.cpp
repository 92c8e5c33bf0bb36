#include "daemon/runs/overload.h"

#include <malloc.h>
#include <unistd.h>

#include <spdlog/spdlog.h>
#include <algorithm>
#include <atomic>
#include <boost/asio/post.hpp>
#include <filesystem>
#include <fstream>
#include <memory>

#include "daemon/runs/engine_threads.h"

namespace digd::daemon {

namespace {

constexpr std::string_view action_names[] = {"no_new_runs", "shrink_credits", "observe", "refuse"};
constexpr std::string_view resource_names[] = {"memory", "archive"};

std::uint64_t threshold_of(overload_action action, const overload_settings& settings) {
  switch (action) {
    case overload_action::no_new_runs: return settings.no_new_runs;
    case overload_action::shrink_credits: return settings.shrink_credits;
    case overload_action::observe: return settings.observe;
    case overload_action::refuse: break;
  }
  return settings.refuse;
}

bool can_ask_for(overload_resource resource, overload_action action) {
  return resource == overload_resource::memory || action == overload_action::no_new_runs ||
         action == overload_action::refuse;
}

std::uint64_t size_or_0(const std::string& file) {
  std::error_code ec;
  const auto size = std::filesystem::file_size(file, ec);
  return ec ? 0 : size;
}

// The lower of `limit` and what a cgroup allows. At memory.high the kernel begins to slow the group down. Either file
// may say "max", which is no number and no limit.
std::uint64_t lower_limit(const std::string& cgroup, std::uint64_t limit) {
  std::uint64_t bytes = 0;
  for (const char* name : {"/memory.max", "/memory.high"}) {
    if (std::ifstream(cgroup + name) >> bytes) limit = std::min(limit, bytes);
  }
  return limit;
}

}  // namespace

std::string_view to_string(overload_action action) { return action_names[static_cast<std::size_t>(action)]; }
std::string_view to_string(overload_resource resource) { return resource_names[static_cast<std::size_t>(resource)]; }

std::uint64_t resident_bytes() {
  std::uint64_t total = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> total >> resident;
  return resident * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

std::uint64_t memory_limit(const std::string& root) {
  std::uint64_t limit =
std::uint64_t heap_bytes() {
  const struct mallinfo2 info = ::mallinfo2();
  return info.uordblks + info.hblkhd;
}

      static_cast<std::uint64_t>(::sysconf(_SC_PHYS_PAGES)) * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  const std::string groups = root + "/sys/fs/cgroup";
  std::string line;
  std::ifstream file(root + "/proc/self/cgroup");
  while (std::getline(file, line)) {
    if (!line.starts_with("0::/")) continue;  // cgroup version 2 has one hierarchy
    // The groups above limit the process too.
    for (std::string path = line.substr(3); !path.empty(); path.resize(path.rfind('/'))) {
      limit = lower_limit(groups + path, limit);
    }
  }
  return limit;
}

void overload_steps::update(std::uint64_t used, std::uint64_t limit, const overload_settings& settings) {
  for (std::size_t i = 0; i < overload_action_count; ++i) {
    const std::uint64_t percent = threshold_of(static_cast<overload_action>(i), settings);
    const std::uint64_t ends_at = percent > hysteresis ? percent - hysteresis : 0;
    const auto reaches = [&](std::uint64_t share) {
      return static_cast<double>(used) * 100 >= static_cast<double>(limit) * static_cast<double>(share);
    };
    on_[i] = limit > 0 && percent > 0 && (reaches(percent) || (on_[i] && reaches(ends_at)));
  }
}

void overload::check() {
  // Returns what the runs freed that degraded at the last check; otherwise it would count as used, and digd would shed
  // a run too many.
  if (state_.is_on(overload_action::observe)) ::malloc_trim(0);
  const auto config = settings_.now();
  const overload_settings& settings = config->overload;
  const std::array<std::uint64_t, overload_resource_count> used{
      resident_bytes(), archive_path_.empty() ? 0 : size_or_0(archive_path_) + size_or_0(archive_path_ + "-wal")};
  const std::array<std::uint64_t, overload_resource_count> limits{
      settings.memory_bytes > 0 ? settings.memory_bytes : memory_limit(),
      archive_path_.empty() ? 0 : settings.archive_bytes};
  for (std::size_t r = 0; r < overload_resource_count; ++r) {
    state_.gauges_[r].used = used[r];
    state_.gauges_[r].limit = limits[r];
    steps_[r].update(used[r], limits[r], settings);
  }
  for (std::size_t i = 0; i < overload_action_count; ++i) {
    const auto action = static_cast<overload_action>(i);
    bool on = false;
    for (std::size_t r = overload_resource_count; r-- > 0;) {
      if (!can_ask_for(static_cast<overload_resource>(r), action) || !steps_[r].asks_for(action)) continue;
      on = true;
      state_.causes_[i] = static_cast<std::uint8_t>(r);
    }
    set(action, on);
  }
  state_.is_on(overload_action::observe) ? degrade_heaviest_runs() : resume_runs();
}

void overload::set(overload_action action, bool on) {
  const auto i = static_cast<std::size_t>(action);
  if (state_.on_[i].exchange(on) == on) return;
  if (!on) return spdlog::warn("overload_ended action={}", to_string(action));
  const auto resource = static_cast<overload_resource>(state_.causes_[i].load());
  const overload_state::gauge& gauge = state_.gauge_of(resource);
  state_.begun_[i].fetch_add(1);
  spdlog::error("overload_began action={} resource={} used={} limit={}", to_string(action), to_string(resource),
                gauge.used.load(), gauge.limit.load());
}

// Sheds the heaviest runs of the daemon, not the heaviest of each thread: a thread whose runs are all small sheds none.
void overload::degrade_heaviest_runs() {
  struct survey {
    std::atomic<std::size_t> threads_left, largest{0};
  };
  const auto found = std::make_shared<survey>();
  found->threads_left = threads_.size();
  for (const auto& thread : threads_) {
    boost::asio::post(thread->context(), [found, &threads = threads_, &runs = thread->runs()] {
      const std::size_t own = runs.largest_graph();
      for (std::size_t seen = found->largest; seen < own && !found->largest.compare_exchange_weak(seen, own);) {
      }
      if (found->threads_left.fetch_sub(1) > 1) return;
      const std::size_t least = found->largest / 2;
      for (const auto& each : threads) {
        boost::asio::post(each->context(), [&runs = each->runs(), least] { runs.degrade_largest(least); });
      }
    });
  }
}

// One of each thread at a time: the next check shows whether memory still suffices.
void overload::resume_runs() {
  for (const auto& thread : threads_) {
    boost::asio::post(thread->context(), [&runs = thread->runs()] { runs.resume_one(); });
  }
}

void overload::start(std::function<void()> also_check) {
  also_check_ = std::move(also_check);
  thread_ = std::thread([this] { work(); });
}

void overload::stop() {
  {
    const std::lock_guard hold(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void overload::check_soon() {
  {
    const std::lock_guard hold(mutex_);
    woken_ = true;
  }
  wake_.notify_all();
}

void overload::work() {
  for (;;) {
    {
      std::unique_lock hold(mutex_);
      wake_.wait_for(hold, check_interval, [this] { return stopping_ || woken_; });
      if (stopping_) return;
      woken_ = false;
    }
    check();
    also_check_();
  }
}

}  // namespace digd::daemon
