#include "engine/silences.h"

#include "engine/windows.h"

namespace digd {

void silences::insert(const due_silence& item) {
  waiting_.insert(item);
  due_[item.activation] = item.at;
}

void silences::hear(graph::activation_index v, milliseconds now) {
  forget(v);
  insert({later(now, *settings_.after_ms), v, 0});
}

void silences::forget(graph::activation_index v) {
  const auto known = due_.find(v);
  if (known == due_.end()) return;
  waiting_.erase({known->second, v, 0});
  due_.erase(known);
}

void silences::clear() {
  waiting_.clear();
  due_.clear();
}

void silences::restart(milliseconds now) {
  for (graph::agent_index a = 0; a < graph_.agent_count(); ++a) {
    for (const graph::activation_index v : graph_.agent(a).open) hear(v, now);
  }
}

std::optional<silences::due_silence> silences::next() const {
  if (waiting_.empty()) return std::nullopt;
  return *waiting_.begin();
}

void silences::advance(std::size_t steps) {
  due_silence item = *waiting_.begin();
  forget(item.activation);
  if (++item.step >= steps) return;
  item.at = later(item.at, *settings_.after_ms);
  insert(item);
}

}  // namespace digd
