#include "bench/healing/reading.h"

#include <algorithm>

namespace digd::bench {

std::vector<std::string> names_in(std::string_view text) {
  std::vector<std::string> names;
  for (std::size_t at = text.find('"'); at != std::string_view::npos && names.size() < max_names_read;) {
    const std::size_t end = text.find('"', at + 1);
    if (end == std::string_view::npos) break;
    std::string name(text.substr(at + 1, end - at - 1));
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(std::move(name));
    at = text.find('"', end + 1);
  }
  return names;
}

}  // namespace digd::bench
