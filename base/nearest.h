// Which known name somebody probably meant who wrote another.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>

namespace digd {

// How many letters have to be put in, taken out or changed (Levenshtein). Time and memory: the product, the length of
// `b`.
std::size_t edit_distance(std::string_view a, std::string_view b);

// The one of `known` whose name, by `name_of`, is closest; null if none is close: a third of the letters, or two.
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
