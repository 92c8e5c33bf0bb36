#include "bench/healing/agent.h"

namespace digd::bench {

std::string_view to_string(item_kind kind) {
  constexpr std::string_view names[] = {"problem", "raw", "solution", "request", "notice"};
  return names[static_cast<std::size_t>(kind)];
}

}  // namespace digd::bench
