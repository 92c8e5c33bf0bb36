#include "daemon/runs/overload.h"

#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/post.hpp>
#include <filesystem>
#include <fstream>

#include "daemon/process/log.h"
#include "daemon/shared_state.h"

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

bool can_ask_for(overload_resource which, overload_action action) {
  return which == overload_resource::memory || action == overload_action::no_new_runs ||
         action == overload_action::refuse;
}

std::uint64_t size_or_0(const std::string& file) {
  std::error_code ec;
  const auto size = std::filesystem::file_size(file, ec);
  return ec ? 0 : size;
}

// What a cgroup allows, in memory.max or, where the kernel begins to slow it down, memory.high; none where these say
// "max".
std::uint64_t most_of(const std::string& cgroup, std::uint64_t none) {
  std::uint64_t least = none, bytes = 0;
  for (const char* name : {"/memory.max", "/memory.high"}) {
    if (std::ifstream(cgroup + name) >> bytes) least = std::min(least, bytes);
  }
  return least;
}

}  // namespace

std::string_view to_string(overload_action action) { return action_names[static_cast<std::size_t>(action)]; }
std::string_view to_string(overload_resource which) { return resource_names[static_cast<std::size_t>(which)]; }

std::uint64_t resident_bytes() {
  std::uint64_t total = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> total >> resident;
  return resident * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

std::uint64_t memory_of_machine(const std::string& root) {
  std::uint64_t most =
      static_cast<std::uint64_t>(::sysconf(_SC_PHYS_PAGES)) * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  std::string line;
  std::ifstream file(root + "/proc/self/cgroup");
  while (std::getline(file, line)) {
    if (!line.starts_with("0::/")) continue;  // version 2: one hierarchy
    // Each group above limits it too.
    for (std::string path = line.substr(3); !path.empty(); path.resize(path.rfind('/'))) {
      most = most_of(root + "/sys/fs/cgroup" + path, most);
    }
  }
  return most;
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

void overload::look() {
  const auto settings = shared_.live.now();
  const overload_settings& current_settings = settings->overload;
  const std::string file = shared_.store ? shared_.store->how().path : std::string();
  const std::array<std::uint64_t, overload_resource_count> used{
      resident_bytes(), file.empty() ? 0 : size_or_0(file) + size_or_0(file + "-wal")};
  const std::array<std::uint64_t, overload_resource_count> limits{
      current_settings.memory_bytes > 0 ? current_settings.memory_bytes : memory_of_machine(),
      file.empty() ? 0 : current_settings.archive_bytes};
  for (std::size_t r = 0; r < overload_resource_count; ++r) {
    counted_.resources[r].used = used[r];
    counted_.resources[r].limit = limits[r];
    steps_[r].update(used[r], limits[r], current_settings);
  }
  for (std::size_t i = 0; i < overload_action_count; ++i) {
    const auto action = static_cast<overload_action>(i);
    bool on = false;
    for (std::size_t r = overload_resource_count; r-- > 0;) {
      const auto which = static_cast<overload_resource>(r);
      if (!can_ask_for(which, action) || !steps_[r].asks_for(action)) continue;
      on = true;
      causes_[i] = static_cast<std::uint8_t>(r);
    }
    set(action, on);
  }
  if (is_on(overload_action::observe)) unburden();
}

void overload::set(overload_action action, bool on) {
  const auto i = static_cast<std::size_t>(action);
  if (on_[i].exchange(on) == on) return;
  const gauge& of = counted_.resources[causes_[i]];
  if (on) {
    counted_.begun[i].fetch_add(1);
    spdlog::error("overload_begins action={} resource={} used={} limit={}", to_string(action),
                  to_string(static_cast<overload_resource>(causes_[i].load())), of.used.load(), of.limit.load());
  } else {
    spdlog::warn("overload_ends action={}", to_string(action));
  }
}

std::optional<overload_resource> overload::cause_of(overload_action action) const {
  if (!is_on(action)) return std::nullopt;
  return static_cast<overload_resource>(causes_[static_cast<std::size_t>(action)].load());
}

// What the runs of the time before gave up goes back to the system now.
void overload::unburden() {
  ::malloc_trim(0);
  for (const auto& thread : shared_.threads) {
    boost::asio::post(thread->context(), [&runs = thread->runs()] { runs.unburden(); });
  }
}

void overload::start() {
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

void overload::look_again() {
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
      wake_.wait_for(hold, look_every, [this] { return stopping_ || woken_; });
      if (stopping_) return;
      woken_ = false;
    }
    look();
  }
}

}  // namespace digd::daemon
