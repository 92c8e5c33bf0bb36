#include "rules/evidence.h"

namespace digd {

event_list::event_list(const graph::graph& g, std::vector<graph::event_index> events) {
  if (events.empty()) return;
  const auto sorted = events.begin() + static_cast<std::ptrdiff_t>(std::min(events.size(), max_sorted));
  std::partial_sort(events.begin(), sorted, events.end(),
                    [&](graph::event_index a, graph::event_index b) { return g.event(a).id < g.event(b).id; });
  g.count_visited(events.size());
  const graph::generators& lineage = g.event(events.front()).generators;
  const bool has_one_lineage =
      std::all_of(events.begin(), events.end(), [&](graph::event_index e) { return g.event(e).generators == lineage; });
  list_ = std::make_shared<const list>(list{std::move(events), has_one_lineage});
}

}  // namespace digd
