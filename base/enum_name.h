// Finds an enumerator by its name in a list that has the names in the order of the enumerators.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace digd {

// The enumerator whose number is the position of `name` in `names`; nothing: no such name. `names` is an array of
// string views. Any thread.
template <class Enum, class Names>
std::optional<Enum> enum_from_name(std::string_view name, const Names& names) {
  std::size_t number = 0;
  for (const std::string_view each : names) {
    if (each == name) return static_cast<Enum>(number);
    ++number;
  }
  return std::nullopt;
}

}  // namespace digd
