// The task list that the agents of a session share, and what an agent reads without a hook: its mail.
#include <algorithm>
#include <utility>

#include "ingest/hooks/session.h"

namespace digd::hooks {

// ---- tasks

// A task without an owner is nobody's work yet. Its event waits for the agent that takes it.
void session::create_task(const call& of, agent& caller) {
  if (of.task.empty() || caller.activation.empty()) return;
  if (shared_.size() >= max_agents) {
    ++ignored_;
    return;
  }
  std::string made = out_.event(caller.activation,
                                {.recipients = {}, .kind = "task", .text = of.text, .tool = of.tool_name, .fyi = true});
  shared_[of.task] = {.event = std::move(made), .text = of.text, .creator = &caller};
}

// An agent assigns a task to another one. False: the call does something else.
bool session::want_assignment(const call& of, agent& caller, taken& into) {
  agent* to = agent_addressed(of.target);
  const auto found = shared_.find(of.task);
  if (to == nullptr || to == &caller || to->external || found == shared_.end() || found->second.owner == to) {
    return false;
  }
  const std::string made = out_.event(caller.activation, {.recipients = {to->name},
                                                          .kind = "task",
                                                          .text = found->second.text,
                                                          .tool = of.tool_name,
                                                          .fingerprint = of.fingerprint});
  found->second.given = made;
  to->inbox.push_back({.event = made, .from = &caller, .tool_use = of.tool_use, .is_mail = true});
  wait_for_verdict(
      into,
      {.kind = waiting_kind::assignment, .event = made, .sender = &caller, .receiver = to, .tool_use = of.tool_use});
  return true;
}

void session::update_task(const call& of, agent& caller) {
  const auto found = shared_.find(of.task);
  if (found == shared_.end()) return;
  shared_task& task = found->second;
  if (!of.target.empty()) {
    agent* owner = agent_addressed(of.target);
    if (owner == &caller) take_task(task, caller);
    task.owner = owner;
    task.owner_name = owner == nullptr ? of.target : std::string();
  } else if (of.change == task_change::taken && task.owner == nullptr && task.owner_name.empty()) {
    take_task(task, caller);  // the program makes it the owner
    task.owner = &caller;
  }
  if (of.change != task_change::ended) return;
  end_task(task, of, caller);
  shared_.erase(found);
}

void session::take_task(shared_task& task, agent& by) {
  if (task.owner == &by || task.creator == &by || by.activation.empty()) return;
  turn_over(by, {task.event});
}

// Its creator need not wait for it, so that the event about its end is a notice.
void session::end_task(const shared_task& task, const call& of, agent& by) {
  if (task.owner == nullptr) return;
  if (task.owner == &by) {
    turn_over(by, read_mail(by));
    if (task.creator == &by || by.activation.empty()) return;
    out_.event(
        by.activation,
        {.recipients = {task.creator->name}, .kind = "result", .text = task.text, .tool = of.tool_name, .fyi = true});
    return;
  }
  // Another agent has completed or removed the task, so an unread assignment is no longer its owner's work.
  std::erase_if(task.owner->inbox, [&](const unread& each) {
    if (each.event != task.given) return false;
    take_over(by, *task.owner, each.event);
    return true;
  });
}

// Tasks may be given to a name before the agent of this name exists.
void session::give_tasks_of_name(agent& to) {
  for (auto& [id, task] : shared_) {
    if (task.owner_name != to.name) continue;
    task.owner = &to;
    task.owner_name.clear();
    to.inbox.push_back({.event = task.event, .from = task.creator, .is_mail = true});
  }
}

// ---- mail

session::agent* session::agent_addressed(const std::string& name) {
  return name == "team-lead" ? &main_agent() : find_agent(name);
}

std::vector<std::string> session::read_mail(agent& of, const agent* from) {
  std::vector<std::string> events;
  std::erase_if(of.inbox, [&](const unread& each) {
    if (!each.is_mail || (from != nullptr && each.from != from)) return false;
    events.push_back(each.event);
    return true;
  });
  return events;
}

// A message or a task that never left: the program refused the call, or could not carry it out, and told the sender.
void session::return_sent(const std::string& tool_use) {
  if (tool_use.empty()) return;
  if (const auto asked = asked_.find(tool_use); asked != asked_.end()) {
    take_over(*asked->second.sender, *asked->second.receiver, asked->second.event);
    asked_.erase(asked);
  }
  for (const auto& a : agents_) {
    std::erase_if(a->inbox, [&](const unread& each) {
      if (each.tool_use != tool_use) return false;
      take_over(*each.from, *a, each.event);
      return true;
    });
  }
}

// Another agent consumed the event before its receiver could, so the event is not an orphan.
void session::take_over(const agent& by, const agent& receiver, const std::string& event) {
  out_.activation_ended(out_.activation_started(by.name, {event}), {}, nullptr);
  discard_event(receiver, event);
}

void session::discard_event(const agent& of, const std::string& event) {
  out_.activation_discarded(out_.activation_started(of.name, {event}), {event});
}

// The program wakes a teammate for its mail.
bool session::has_teammate_with_mail() const {
  return std::any_of(agents_.begin(), agents_.end(), [](const auto& a) { return a->is_teammate && !a->inbox.empty(); });
}

}  // namespace digd::hooks
