#include "model/settings.h"

namespace digd {

namespace {

template <class Enum, std::size_t N>
std::optional<Enum> from_name(std::string_view name, const std::string_view (&names)[N]) {
  for (std::size_t i = 0; i < N; ++i) {
    if (names[i] == name) return static_cast<Enum>(i);
  }
  return std::nullopt;
}

constexpr std::string_view mode_names[] = {"off", "observe", "shadow", "enforce"};
constexpr std::string_view clock_names[] = {"wall", "trace"};

}  // namespace

std::string_view to_string(mode m) { return mode_names[static_cast<std::size_t>(m)]; }
std::string_view to_string(clock_kind c) { return clock_names[static_cast<std::size_t>(c)]; }
std::optional<mode> mode_from(std::string_view name) { return from_name<mode>(name, mode_names); }
std::optional<clock_kind> clock_from(std::string_view name) { return from_name<clock_kind>(name, clock_names); }

}  // namespace digd
