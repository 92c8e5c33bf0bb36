// The canary: with `enforce_share`, a share of the runs is enforced and the rest stays in shadow, so that the two
// groups can be compared.
//
// A run joins if its hello asks for shadow, or for no mode while the default is shadow or enforce. A run is in no group
// if its hello asks for off, observe or enforce, or if `caps.mode` or the operator's switch allows less than enforce.
// The group depends only on the run's id: the first 8 bytes of its SHA-256 are a big-endian fraction of 2^64, and a
// fraction below the share means enforce. So a larger share keeps every run of a smaller one. Pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "engine/policy.h"
#include "model/settings.h"

namespace digd::daemon {

enum class canary_group : std::uint8_t { none, shadow, enforce };

// From 0 up to, not including, 1.
double canary_fraction(std::string_view run);

// `operator_mode`: the operator's switch when the run opens.
canary_group draw_canary(const hello& asked, const run_policy& policy, double enforce_share, mode operator_mode);

// The mode of a run in a group; outside both groups, `otherwise`.
mode mode_in(canary_group group, mode otherwise);

// Whether the draw replaced this hello's mode. Such a hello does not conflict with the run.
bool is_replaced(canary_group group, const hello& asked);

// The frame that opens the run in the archive, and exported traces, have the group.
void append_group(std::string& opening_frame, canary_group group);
canary_group recorded_group(std::string_view opening_frame);

}  // namespace digd::daemon
