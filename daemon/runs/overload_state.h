// Which overload actions are on now, and what was measured. `overload` (runs/overload.h) writes it.
//
// Threads: one writes, any reads.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>

namespace digd::daemon {

enum class overload_action : std::uint8_t { no_new_runs, shrink_credits, observe, refuse };
inline constexpr std::size_t overload_action_count = 4;
std::string_view to_string(overload_action);

enum class overload_resource : std::uint8_t { memory, archive };
inline constexpr std::size_t overload_resource_count = 2;
std::string_view to_string(overload_resource);

class overload_state {
 public:
  static constexpr std::uint64_t credit_share = 16;  // while `shrink_credits` is on: 1/16 of a session's credits

  // In bytes.
  struct gauge {
    std::atomic<std::uint64_t> used{0}, limit{0};
  };

  bool is_on(overload_action action) const { return on_[index(action)].load(std::memory_order_relaxed); }
  // Whether the action is on for what clients with this token do. An empty name stands for all clients without a token.
  bool is_on_for(overload_action action, const std::string& token) const {
    if (!is_on(action)) return false;
    const std::size_t cause = causes_[index(action)].load(std::memory_order_relaxed);
    return for_all_[index(action)].load(std::memory_order_relaxed) || is_heavy(cause, token);
  }
  // Whether the runs that this token opened have more bytes in the archive than its `max_bytes`.
  bool is_full(const std::string& token) const {
    const std::lock_guard lock(full_guard_);
    return full_.contains(token);
  }
  // Rises each time `is_full` changes for some token. Until it rises, earlier answers of `is_full` hold.
  std::uint64_t full_changes() const { return full_changes_.load(std::memory_order_acquire); }
  // The resource that an action is on for; nothing if it is off.
  std::optional<overload_resource> cause_of(overload_action action) const {
    if (!is_on(action)) return std::nullopt;
    return static_cast<overload_resource>(causes_[index(action)].load());
  }
  // The archive's files at the last check. Other threads read their sizes here and never wait for the disk.
  struct file_sizes {
    std::atomic<std::uint64_t> database{0}, log{0};
  };
  const file_sizes& archive_sizes() const { return archive_sizes_; }
  const gauge& gauge_of(overload_resource resource) const { return gauges_[static_cast<std::size_t>(resource)]; }
  // How often the action has begun.
  std::uint64_t times_begun(overload_action action) const { return begun_[index(action)].load(); }

 private:
  friend class overload;

  bool is_heavy(std::size_t resource, const std::string& token) const {
    const std::lock_guard lock(heavy_guard_);
    return heavy_[resource].contains(token);
  }

  static std::size_t index(overload_action action) { return static_cast<std::size_t>(action); }

  std::array<gauge, overload_resource_count> gauges_;
  file_sizes archive_sizes_;
  std::array<std::atomic<bool>, overload_action_count> on_{}, for_all_{};
  mutable std::mutex heavy_guard_;
  // The tokens that use most of a resource, if an action is on for it.
  std::array<std::set<std::string>, overload_resource_count> heavy_;
  mutable std::mutex full_guard_;
  std::set<std::string> full_;
  std::atomic<std::uint64_t> full_changes_{0};
  std::array<std::atomic<std::uint8_t>, overload_action_count> causes_{};
  std::array<std::atomic<std::uint64_t>, overload_action_count> begun_{};
};

}  // namespace digd::daemon
