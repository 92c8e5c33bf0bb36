// The option `kinds`: restricts a rule to events of some kinds.
#pragma once

#include <algorithm>

#include "graph/nodes.h"
#include "model/settings.h"

namespace digd {

// True if `kinds` is not set or names the event's kind.
inline bool kind_counts(const graph::event_node& e, const rule_settings& s) {
  return s.kinds.empty() || (e.kind && std::find(s.kinds.begin(), s.kinds.end(), *e.kind) != s.kinds.end());
}

}  // namespace digd
