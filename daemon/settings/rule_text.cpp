#include "daemon/settings/rule_text.h"

#include "rules/text.h"

namespace digd::daemon {

namespace {

// Facts of a finding on a small graph: one agent, one activation, its output. Only the facts' names matter.
text_facts sample_facts(const rule& which) {
  graph::graph g({});
  const graph::agent_index a = g.intern("agent");
  g.join(a);
  const graph::activation_index v = g.start("activation", "agent", {}, 0);
  std::vector<graph::agent_index> to;
  event_draft draft;
  draft.id = "event";
  draft.recipients = {"agent"};
  const graph::event_index e = g.record(draft, v, 0, to);
  g.fix_generators(v, {&e, 1});
  return which.facts(g, {.event = e, .agent = a, .events = event_list(g, {e}), .agents = {a}});
}

}  // namespace

std::string wrong_with_text(const rule& which, const std::string& pattern) {
  if (pattern.empty()) return {};
  const text_facts facts = sample_facts(which);
  const std::string_view unknown = text::unknown_placeholder(pattern, facts);
  if (unknown.empty()) return {};
  std::string text;
  for (const auto& [name, value] : facts) text.append(text.empty() ? "{" : ", {").append(name).append("}");
  return "names {" + std::string(unknown) + "}, which this rule does not have; it has " + text;
}

}  // namespace digd::daemon
