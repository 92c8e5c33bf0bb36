#include "model/limit.h"

#include "base/enum_name.h"

namespace digd {

namespace {

constexpr std::array<std::string_view, limit_count> limit_names{
    "message_bytes",  "agents",     "recipients",   "inputs",    "live_events",    "open_activations", "sessions",
    "settled_events", "generators", "judging_work", "run_bytes", "bytes_of_token", "overload",         "fleet_lease",
};
static_assert(limit_names.back() == "fleet_lease" &&
              static_cast<std::size_t>(limit_id::fleet_lease) + 1 == limit_count);

constexpr std::array<std::string_view, 3> policy_names{"refuse", "observe", "gap"};

}  // namespace

std::string_view to_string(limit_id id) { return limit_names[static_cast<std::size_t>(id)]; }
std::string_view to_string(limit_policy policy) { return policy_names[static_cast<std::size_t>(policy)]; }
std::optional<limit_id> limit_from(std::string_view name) { return enum_from_name<limit_id>(name, limit_names); }
std::optional<limit_policy> policy_from(std::string_view name) {
  return enum_from_name<limit_policy>(name, policy_names);
}

}  // namespace digd
