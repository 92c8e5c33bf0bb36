#include "analysis/shapley/estimator.h"

#include <algorithm>
#include <array>

namespace digd::shapley {

namespace {

constexpr std::array<std::string_view, 6> names{"auto", "exact", "permutation", "antithetic", "owen", "leverage"};

}  // namespace

std::string_view to_string(estimator e) { return names[static_cast<std::size_t>(e)]; }

std::optional<estimator> estimator_from(std::string_view name) {
  const auto at = std::find(names.begin(), names.end(), name);
  if (at == names.end()) return {};
  return static_cast<estimator>(at - names.begin());
}

}  // namespace digd::shapley
