// One page of a list, as a request asks for it.
#pragma once

#include <cstdint>

namespace digd::daemon {

struct page_request {
  static constexpr std::uint64_t default_limit = 50, max_limit = 500;
  std::uint64_t limit = default_limit;
  std::uint64_t cursor = 0;  // `next` of the page before; 0: the first page
};

}  // namespace digd::daemon
