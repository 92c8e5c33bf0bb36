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

#include "archive/reader.h"
#include "base/quote.h"
#include "base/thread_name.h"
#include "daemon/access/authorizer.h"
#include "daemon/access/memory_budget.h"
#include "daemon/runs/engine_threads.h"

namespace digd::daemon {

namespace {

constexpr std::string_view action_names[] = {"no_new_runs", "shrink_credits", "observe", "refuse"};
constexpr std::string_view resource_names[] = {"memory", "archive"};
constexpr auto memory_index = static_cast<std::size_t>(overload_resource::memory);

std::uint64_t threshold_of(overload_action action, const overload_settings& settings) {
  switch (action) {
    case overload_action::no_new_runs: return settings.no_new_runs;
    case overload_action::shrink_credits: return settings.shrink_credits;
    case overload_action::observe: return settings.observe;
    case overload_action::refuse: break;
  }
  return settings.refuse;
}

bool can_relieve(overload_resource resource, overload_action action) {
  return resource == overload_resource::memory || action == overload_action::no_new_runs ||
         action == overload_action::refuse;
}

std::uint64_t size_or_0(const std::string& file) {
  std::error_code ec;
  const auto size = std::filesystem::file_size(file, ec);
  return ec ? 0 : size;
}

// The lower of `limit` and what a cgroup allows. At memory.high the kernel begins to slow the group down. Either file
// may contain "max", which means no limit.
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

heap_use heap_in_use() {
  const struct mallinfo2 info = ::mallinfo2();  // the sums of all arenas
  return {.allocated = info.uordblks + info.hblkhd, .free = info.fordblks};
}

std::uint64_t memory_limit(const std::string& root) {
  std::uint64_t limit =
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

overload_settings settings_for_all(const overload_settings& settings) {
  overload_settings effective = settings;
  const auto first_on = [](std::initializer_list<std::uint64_t> later) {
    for (const std::uint64_t percent : later) {
      if (percent > 0) return percent;
    }
    return std::uint64_t{100};
  };
  if (effective.no_new_runs > 0)
    effective.no_new_runs = first_on({settings.shrink_credits, settings.observe, settings.refuse});
  if (effective.shrink_credits > 0) effective.shrink_credits = first_on({settings.observe, settings.refuse});
  if (effective.refuse > 0) effective.refuse = 100;
  return effective;
}

std::set<std::string> tokens_over(const byte_limits& limits, const archive_weights& weights) {
  std::set<std::string> over;
  for (const auto& [token, limit] : limits) {
    const auto found = weights.find(token);
    if (found != weights.end() && found->second > limit) over.insert(token);
  }
  return over;
}

overload::overload(const live_settings& settings, std::string archive_path, const engine_threads& threads,
                   const authorizer& tokens, overload_state& state, memory_budget& budget)
    : settings_(settings),
      archive_path_(std::move(archive_path)),
      threads_(threads),
      tokens_(tokens),
      state_(state),
      budget_(budget) {}

overload::~overload() { stop(); }

void overload::check() {
  // Returns the memory that runs freed by degrading at the last check to the system. Otherwise it would still count as
  // used, and digd would degrade one run too many.
  if (state_.is_on(overload_action::observe)) ::malloc_trim(0);
  const auto config = settings_.now();
  const readings measured = measure(*config);
  update_steps(measured, config->overload);
  limit_connections(measured, *config);
  weigh_archive();
  for (std::size_t i = 0; i < overload_action_count; ++i) apply(static_cast<overload_action>(i));
  if (is_short(overload_resource::memory)) weigh_tokens();
  if (!state_.is_on(overload_action::observe)) resume_runs();
}

overload::readings overload::measure(const config& settings) {
  state_.archive_sizes_.database = archive_path_.empty() ? 0 : size_or_0(archive_path_);
  state_.archive_sizes_.log = archive_path_.empty() ? 0 : size_or_0(archive_path_ + "-wal");
  return {.used = {resident_bytes(), state_.archive_sizes_.database + state_.archive_sizes_.log},
          .limits = {settings.overload.memory_bytes > 0 ? settings.overload.memory_bytes : memory_limit(),
                     archive_path_.empty() ? 0 : settings.overload.archive_bytes}};
}

void overload::update_steps(const readings& measured, const overload_settings& settings) {
  for (std::size_t r = 0; r < overload_resource_count; ++r) {
    const std::uint64_t used = measured.used[r], limit = measured.limits[r];
    state_.gauges_[r].used = used;
    state_.gauges_[r].limit = limit;
    steps_[r].update(used, limit, settings);
    steps_for_all_[r].update(used, limit, settings_for_all(settings));
  }
  const std::uint64_t used = measured.used[memory_index], limit = measured.limits[memory_index];
  const std::uint64_t ends_at =
      limit / 100 * (settings.observe - std::min(settings.observe, overload_steps::hysteresis));
  to_free_ = used - std::min(used, ends_at);
}

void overload::limit_connections(const readings& measured, const config& settings) {
  const std::uint64_t memory = measured.limits[memory_index];
  budget_.set_limit(settings.connections.memory_bytes > 0 ? settings.connections.memory_bytes
                                                          : std::max(memory / connection_share, min_connection_bytes));
}

// Whether the resource needs an action that relieves it.
bool overload::is_short(overload_resource resource) const {
  for (std::size_t i = 0; i < overload_action_count; ++i) {
    const auto action = static_cast<overload_action>(i);
    if (can_relieve(resource, action) && steps_[static_cast<std::size_t>(resource)].requests(action)) return true;
  }
  return false;
}

// Weighs the tokens by their bytes in the archive, if the archive is short or tokens have a limit of bytes.
void overload::weigh_archive() {
  const bool is_archive_short = is_short(overload_resource::archive);
  const byte_limits token_limits = archive_path_.empty() ? byte_limits() : tokens_.byte_limits_of_tokens();
  const bool needs_weights = is_archive_short || !token_limits.empty();
  if (needs_weights) weigh_tokens_in_archive();
  limit_bytes_of_tokens(token_limits);
  if (!needs_weights) archive_weights_.reset();
  if (is_archive_short && archive_weights_) set_heavy(overload_resource::archive, *archive_weights_);
}

// Begins or ends the action, for heavy tokens or for all.
void overload::apply(overload_action action) {
  const auto i = static_cast<std::size_t>(action);
  bool on = false;
  for (std::size_t r = overload_resource_count; r-- > 0;) {
    if (!can_relieve(static_cast<overload_resource>(r), action) || !steps_[r].requests(action)) continue;
    on = true;
    state_.causes_[i] = static_cast<std::uint8_t>(r);
  }
  const std::size_t cause = state_.causes_[i];
  const bool is_weighed = cause == memory_index || archive_weights_;
  state_.for_all_[i] = !is_weighed || steps_for_all_[cause].requests(action);
  set(action, on);
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

// Each engine thread weighs its runs; the last thread to finish decides.
void overload::weigh_tokens() {
  struct survey {
    std::atomic<std::size_t> threads_left{0};
    std::mutex mutex;
    token_weights weights;
  };
  const auto found = std::make_shared<survey>();
  found->threads_left = threads_.size();
  for (const memory_budget::holder& holder : budget_.holders()) {
    token_weight& weight = found->weights[holder.token];
    weight.bytes += holder.bytes;
    weight.largest_connection = std::max(weight.largest_connection, holder.can_free);
  }
  for (const auto& thread : threads_) {
    boost::asio::post(thread->context(), [this, found, &runs = thread->runs()] {
      token_weights own;
      runs.weigh(own);
      const std::lock_guard lock(found->mutex);
      for (const auto& [token, weight] : own) {
        token_weight& sum = found->weights[token];
        sum.bytes += weight.bytes;
        sum.largest_run = std::max(sum.largest_run, weight.largest_run);
      }
      if (found->threads_left.fetch_sub(1) == 1) decide(found->weights);
    });
  }
}

// If the archive cannot be read, the actions are on for all tokens.
void overload::weigh_tokens_in_archive() {
  using clock = std::chrono::steady_clock;
  const auto begun = clock::now();
  if (archive_weights_ && begun < weighs_archive_at_) return;
  archive_weights_.reset();
  if (!archive_reads_) {
    if (auto opened = archive::reader::open(archive_path_)) archive_reads_ = std::move(*opened);
  }
  if (!archive_reads_) return;
  const auto bytes = archive_reads_->bytes_by_opener();
  if (!bytes) return;
  archive_weights_ = *bytes;
  const auto ended = clock::now();
  weighs_archive_at_ = ended + std::max<clock::duration>(weighing_interval, (ended - begun) * weighing_pause);
}

void overload::limit_bytes_of_tokens(const byte_limits& limits) {
  if (!archive_weights_ && !limits.empty()) return;
  const archive_weights weights = archive_weights_.value_or(archive_weights());
  std::set<std::string> full = tokens_over(limits, weights);
  if (full == state_.full_) return;
  const auto log = [&](const char* change, const std::string& token) {
    const auto bytes = weights.find(token);
    const auto limit = limits.find(token);
    spdlog::warn("{} token={} bytes={} limit={}", change, digd::quoted(token),
                 bytes == weights.end() ? 0 : bytes->second, limit == limits.end() ? 0 : limit->second);
  };
  for (const std::string& token : full) {
    if (!state_.full_.contains(token)) log("token_full", token);
  }
  for (const std::string& token : state_.full_) {
    if (!full.contains(token)) log("token_has_room", token);
  }
  const std::lock_guard lock(state_.full_guard_);
  state_.full_ = std::move(full);
  state_.full_changes_.fetch_add(1, std::memory_order_release);
}

void overload::set_heavy(overload_resource resource, const std::map<std::string, std::uint64_t>& bytes) {
  std::uint64_t max_held = 0;
  for (const auto& [token, held] : bytes) max_held = std::max(max_held, held);
  const std::lock_guard lock(state_.heavy_guard_);
  auto& heavy = state_.heavy_[static_cast<std::size_t>(resource)];
  heavy.clear();
  for (const auto& [token, held] : bytes) {
    if (held >= max_held / 2) heavy.insert(token);
  }
}

// On an engine thread.
void overload::decide(const token_weights& weights) {
  std::map<std::string, std::uint64_t> bytes;
  const token_weights::value_type* to_shed = nullptr;
  for (const auto& each : weights) {
    bytes[each.first] = each.second.bytes;
    const bool can_free = each.second.largest_run > 0 || each.second.largest_connection > 0;
    if (can_free && (to_shed == nullptr || each.second.bytes > to_shed->second.bytes)) to_shed = &each;
  }
  set_heavy(overload_resource::memory, bytes);
  if (to_shed != nullptr && state_.is_on(overload_action::observe)) shed(to_shed->first, to_shed->second);
}

// Closes the token's connections, or degrades its runs, that weigh at least half as much as its heaviest one. So
// nothing small goes while something large stays.
void overload::shed(const std::string& token, const token_weight& weight) {
  if (weight.largest_connection > weight.largest_run) {
    const std::size_t closed = budget_.close_heavy(token, weight.largest_connection / 2);
    return spdlog::warn("overload_closed token={} connections={}", digd::quoted(token), closed);
  }
  const std::uint64_t least = weight.largest_run / 2, wanted = to_free_.load() / threads_.size();
  for (const auto& thread : threads_) {
    boost::asio::post(thread->context(),
                      [&runs = thread->runs(), token, least, wanted] { runs.degrade_heaviest(token, least, wanted); });
  }
}

// Resumes one run of each thread at a time; the next check shows whether memory still suffices.
void overload::resume_runs() {
  for (const auto& thread : threads_) {
    boost::asio::post(thread->context(), [&runs = thread->runs()] { runs.resume_one(); });
  }
}

void overload::start(std::function<void()> after_check) {
  after_check_ = std::move(after_check);
  thread_ = std::thread([this] {
    name_this_thread("overload");
    work();
  });
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
    has_work_ = true;
  }
  wake_.notify_all();
}

void overload::work() {
  for (;;) {
    {
      std::unique_lock hold(mutex_);
      wake_.wait_for(hold, check_interval, [this] { return stopping_ || has_work_; });
      if (stopping_) return;
      has_work_ = false;
    }
    check();
    after_check_();
  }
}

}  // namespace digd::daemon
