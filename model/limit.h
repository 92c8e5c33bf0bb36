// The limits that a run can hit, and the policies for that case. docs/limits.md lists all limits.
//
// Plain values and pure functions. Thread: any for the functions; one at a time for a `limit_policies`. Failure:
// nullopt for a name that is unknown.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace digd {

// The engine enforces the limits up to `judging_work`, so a replay hits them at the same message. The daemon enforces
// `run_bytes`, `bytes_of_token`, `overload` and `fleet_lease`. When a policy other than `refuse` takes effect, the
// record gets a `limit` line, which a replay applies.
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
  bytes_of_token,
  overload,
  fleet_lease,
};
inline constexpr std::size_t limit_count = 14;

// refuse: refuse the message with an error. observe: stop judging the run; deliver its events unchanged and record
// them. gap: forget what is pending, as if the client had sent `gap`.
enum class limit_policy : std::uint8_t { refuse, observe, gap };

std::string_view to_string(limit_id);
std::string_view to_string(limit_policy);
std::optional<limit_id> limit_from(std::string_view name);
std::optional<limit_policy> policy_from(std::string_view name);

// The policies of a run, for the limits whose policy can be chosen.
class limit_policies {
 public:
  static constexpr std::size_t count = 6;  // message_bytes to open_activations

  const limit_policy& of(limit_id id) const { return has_choice(id) ? policies_[index(id)] : without_choice; }
  limit_policy& of(limit_id id) { return policies_[index(id)]; }
  // Whether a configuration or a hello may choose the policy.
  static constexpr bool allows(limit_id id, limit_policy policy) {
    if (!has_choice(id)) return policy == limit_policy::refuse;
    return policy != limit_policy::gap || id == limit_id::message_bytes || id == limit_id::live_events;
  }
  static constexpr bool has_choice(limit_id id) { return index(id) < count; }
  bool operator==(const limit_policies&) const = default;

 private:
  static constexpr limit_policy without_choice = limit_policy::refuse;
  static constexpr std::size_t index(limit_id id) { return static_cast<std::size_t>(id); }
  std::array<limit_policy, count> policies_{};
};

}  // namespace digd
