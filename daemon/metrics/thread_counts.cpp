#include "daemon/metrics/thread_counts.h"

namespace digd::daemon {

void thread_counts::take(const digd::answer& answer) {
  for (const verdict& v : answer.verdicts) verdicts[v.action].add();
  for (const detection& d : answer.detections) {
    detections[index_of(d.rule)][d.healed ? 1 : 0].add();
    if (!d.healed && d.cause != cause::none) causes[d.cause].add();
  }
  for (const intervention& i : answer.interventions) interventions[i.action].add();
  for (const outcome_report& o : answer.outcomes) outcomes[index_of(o.rule)][o.outcome].add();
}

}  // namespace digd::daemon
