// The canary: with `enforce_share`, a share of runs is enforced and the rest stays in shadow, so that the two can be
// compared.
//
// A run joins if its hello asks for shadow, or for nothing while the default is shadow or enforce. An explicit off,
// observe or enforce wins, and so do `caps.mode` and the operator's switch where they allow less than enforce: such
// runs are in no group. The group depends on the run's id alone: the first 8 bytes of its SHA-256, as a big-endian
// fraction of 2^64, below the share means enforce. So a larger share keeps every run that a smaller one chose. Pure
// functions; any thread.
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

// `operator_mode`: the operator's switch as the run is opened.
canary_group draw_canary(const hello& asked, const run_policy& policy, double enforce_share, mode operator_mode);

// The mode of a run in a group; that of the settings in none.
mode mode_in(canary_group group, mode otherwise);

// Whether a hello's mode is one that the draw replaced, so that it does not contradict the run.
bool is_replaced(canary_group group, const hello& asked);

// The group stands in the frame that opens the run in the archive, and in exported traces.
void append_group(std::string& opening_frame, canary_group group);
canary_group recorded_group(std::string_view opening_frame);

}  // namespace digd::daemon
