#include "model/settings.h"

#include "base/enum_name.h"

namespace digd {

namespace {

constexpr std::string_view mode_names[] = {"off", "observe", "shadow", "enforce"};
constexpr std::string_view clock_names[] = {"wall", "trace"};

}  // namespace

std::string_view to_string(mode m) { return mode_names[static_cast<std::size_t>(m)]; }
std::string_view to_string(clock_kind c) { return clock_names[static_cast<std::size_t>(c)]; }
std::optional<mode> mode_from(std::string_view name) { return enum_from_name<mode>(name, mode_names); }
std::optional<clock_kind> clock_from(std::string_view name) { return enum_from_name<clock_kind>(name, clock_names); }

}  // namespace digd
