// Names as they appear in sentences for people.
#pragma once

#include <string>
#include <string_view>

#include "base/quote.h"

namespace digd::causal {

// A name that users or agents chose: unchanged if harmless, else quoted and escaped (base/quote.h).
inline std::string plain(std::string_view name) {
  const std::string q = digd::quoted(name);
  return q.size() == name.size() + 2 && !name.empty() ? std::string(name) : q;
}

}  // namespace digd::causal
