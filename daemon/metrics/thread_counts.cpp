#include "daemon/metrics/thread_counts.h"

namespace digd::daemon {

namespace {

template <class Array, class Enum>
auto& at(Array& items, Enum which) {
  return items[static_cast<std::size_t>(which)];
}

}  // namespace

void thread_counts::take(const digd::answer& of) {
  for (const verdict& v : of.verdicts) at(verdicts, v.action).add();
  for (const detection& d : of.detections) {
    detections[index_of(d.rule)][d.healed ? 1 : 0].add();
    if (!d.healed && d.cause != cause::none) at(causes, d.cause).add();
  }
  for (const intervention& i : of.interventions) at(interventions, i.action).add();
  for (const outcome_report& o : of.outcomes) at(outcomes[index_of(o.rule)], o.outcome).add();
}

}  // namespace digd::daemon
