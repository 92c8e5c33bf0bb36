// The limits that can be hit, by name, and what may be done then. docs/limits.md has the table of all.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace digd {

// What was hit. Those up to `open_activations` are counted by the engine, and a replay hits them at the same message;
// `run_bytes` and `overload` are the daemon's, and a replay is told (a `limit` line).
enum class limit_id : std::uint8_t {
  message_bytes,
  agents,
  recipients,
  inputs,
  live_events,
  open_activations,
  sessions,
  settled_events,
  generators,
  judging_work,
  run_bytes,
  overload,
};
inline constexpr std::size_t limit_count = 12;

// refuse: the message is, with an error. observe: the run is judged no more; what comes is delivered as it is, and
// kept. gap: the run forgets what is pending, as if its client had said `gap`.
enum class limit_policy : std::uint8_t { refuse, observe, gap };

std::string_view to_string(limit_id);
std::string_view to_string(limit_policy);
std::optional<limit_id> limit_from(std::string_view name);
std::optional<limit_policy> policy_from(std::string_view name);

// The policies of a run, for the limits that have a choice.
class limit_policies {
 public:
  static constexpr std::size_t count = 6;  // message_bytes to open_activations

  const limit_policy& of(limit_id id) const { return has_choice(id) ? items_[index(id)] : without_choice; }
  limit_policy& of(limit_id id) { return items_[index(id)]; }
  // Whether a configuration or a hello may ask for it.
  static constexpr bool allows(limit_id id, limit_policy policy) {
    if (!has_choice(id)) return policy == limit_policy::refuse;
    return policy != limit_policy::gap || id == limit_id::message_bytes || id == limit_id::live_events;
  }
  static constexpr bool has_choice(limit_id id) { return index(id) < count; }
  bool operator==(const limit_policies&) const = default;

 private:
  static constexpr limit_policy without_choice = limit_policy::refuse;
  static constexpr std::size_t index(limit_id id) { return static_cast<std::size_t>(id); }
  std::array<limit_policy, count> items_{};
};

}  // namespace digd
