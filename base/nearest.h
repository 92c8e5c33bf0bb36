// Suggests the known name that a misspelt one probably means.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>

namespace digd {

// The Levenshtein distance: letters to insert, remove or change. Time: the product of the lengths; memory: the length
// of `b`.
std::size_t edit_distance(std::string_view a, std::string_view b);

// The item of `known` whose name is closest to `meant`. Null if every name differs by more than two letters and by more
// than a third of the letters of `meant`.
template <class Known, class NameOf>
auto nearest(std::string_view meant, const Known& known, NameOf name_of) -> decltype(&*known.begin()) {
  decltype(&*known.begin()) best = nullptr;
  std::size_t best_distance = std::max<std::size_t>(2, meant.size() / 3) + 1;
  for (const auto& item : known) {
    const std::size_t d = edit_distance(meant, name_of(item));
    if (d >= best_distance) continue;
    best_distance = d;
    best = &item;
  }
  return best;
}

}  // namespace digd
