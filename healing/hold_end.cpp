// What the end of a hold does, and what the client receives.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/quote.h"
#include "healing/holds.h"

namespace digd {

namespace {

// The text for the sender of a returned event, if the decision or the time limit has none.
std::string text_of_return(const graph::event_node& e, bool to_nobody, const std::string& reason) {
  const std::string held = " was held for a person and not released. ";
  if (to_nobody) return "The event " + quoted_briefly(e.id) + held + "It is not delivered. " + reason;
  return "Your event " + quoted_briefly(e.id) + held + (e.fyi ? "It is not delivered. " : "It is back with you. ") +
         reason;
}

}  // namespace

intervention carry_out_hold_end(graph::graph& g, std::uint64_t number, const open_hold& hold, hold_end decision,
                                std::string text) {
  const graph::event_node& e = g.event(hold.event);
  g.touch(hold.event);
  intervention ends{.id = "hold:" + std::to_string(number), .action = action::release, .event = e.id};
  ends.inject = std::move(text);
  ends.sessions.push_back(hold.session);
  ends.hold = number;
  std::vector<graph::agent_index> recipients = hold.agents;
  if (decision == hold_end::give_back) {
    ends.action = action::reroute;
    recipients.clear();
    g.intercept(hold.event, hold.agents);
    if (hold.sender != graph::nobody && g.agent(hold.sender).in_roster) recipients.push_back(hold.sender);
    if (ends.inject.empty()) ends.inject = text_of_return(e, recipients.empty(), hold.reason);
    if (recipients.empty()) {
      g.set_to_nobody(hold.event);
    } else if (!e.fyi) {
      const bool was_recipient = std::find(hold.agents.begin(), hold.agents.end(), hold.sender) != hold.agents.end();
      g.give_back(hold.event, hold.sender, was_recipient);
    }
  }
  for (const graph::agent_index a : recipients) ends.recipients.push_back(g.agent(a).name);
  std::sort(ends.recipients.begin(), ends.recipients.end());
  return ends;
}

}  // namespace digd
