// Names and numbers as they stand in sentences for people.
#pragma once

#include <string>
#include <string_view>

#include "base/quote.h"

namespace digd::causal {

// A name that users or agents chose: as it is if harmless, else quoted and escaped (engine/quote.h).
inline std::string plain(std::string_view name) {
  const std::string q = quoted(name);
  return q.size() == name.size() + 2 && !name.empty() ? std::string(name) : q;
}

}  // namespace digd::causal
