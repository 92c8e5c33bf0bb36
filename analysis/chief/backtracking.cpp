#include "analysis/chief/backtracking.h"

#include <algorithm>
#include <set>

#include "analysis/chief/text.h"
#include "base/text.h"

namespace digd::chief {

backtracking backtrack(const flat_log& log, const hierarchy& graph, const std::vector<finding>& findings) {
  backtracking b;
  b.oracles = synthesize_oracles(log, graph);
  b.verdicts = judge(log, graph, b.oracles);
  std::set<std::size_t> found;
  for (const finding& f : findings) {
    if (!f.excused) found.insert(f.step);
  }
  for (std::size_t k = graph.subtasks.size(); k-- > 0;) {  // in reverse order of execution
    const bool proven = std::any_of(graph.subtasks[k].steps.begin(), graph.subtasks[k].steps.end(),
                                    [&](std::size_t i) { return found.contains(i); });
    if (!b.verdicts[k].fails && !proven) continue;
    for (const otar& entry : graph.subtasks[k].agents) {
      std::vector<std::size_t> discrepant;
      for (std::size_t i : entry.steps) {
        if (!can_be_blamed(log, i)) continue;
        const std::string low = lower(log.steps[i].text);
        const bool failed = i + 1 < log.steps.size() && (log.steps[i + 1].execution == execution_state::failed ||
                                                         log.steps[i + 1].execution == execution_state::empty);
        if (failed || found.contains(i) || assumes(low) || concludes(low) || is_brief(low)) discrepant.push_back(i);
      }
      if (discrepant.empty()) continue;
      b.agents.emplace_back(k, entry.agent);
      b.steps.insert(b.steps.end(), discrepant.begin(), discrepant.end());
    }
  }
  std::sort(b.steps.begin(), b.steps.end());
  return b;
}

}  // namespace digd::chief
