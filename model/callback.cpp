#include "model/callback.h"

#include <cstddef>

namespace digd {

std::string_view to_string(callback_kind kind) {
  constexpr std::string_view names[] = {"detection", "intervention", "run"};
  return names[static_cast<std::size_t>(kind)];
}

}  // namespace digd
