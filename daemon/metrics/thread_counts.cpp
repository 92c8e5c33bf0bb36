#include "daemon/metrics/thread_counts.h"

namespace digd::daemon {

namespace {

template <class Array, class Enum>
auto& at(Array& counters, Enum key) {
  return counters[static_cast<std::size_t>(key)];
}

}  // namespace

void thread_counts::take(const digd::answer& answer) {
  for (const verdict& v : answer.verdicts) at(verdicts, v.action).add();
  for (const detection& d : answer.detections) {
    detections[index_of(d.rule)][d.healed ? 1 : 0].add();
    if (!d.healed && d.cause != cause::none) at(causes, d.cause).add();
  }
  for (const intervention& i : answer.interventions) at(interventions, i.action).add();
  for (const outcome_report& o : answer.outcomes) at(outcomes[index_of(o.rule)], o.outcome).add();
}

}  // namespace digd::daemon
