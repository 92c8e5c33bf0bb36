// The agents of a session: which of them a call belongs to, their activations and their usage.
#include <algorithm>
#include <utility>

#include "ingest/hooks/session.h"

namespace digd::hooks {

session::agent& session::add_agent(std::string name) {
  agents_.push_back(std::make_unique<agent>());
  agents_.back()->name = std::move(name);
  return *agents_.back();
}

std::string session::free_name(const std::string& wanted, const std::string& type) {
  if (!wanted.empty() && find_agent(wanted) == nullptr) return wanted;
  const std::string& stem = wanted.empty() ? type : wanted;
  std::string name;
  do {
    name = stem + '#' + std::to_string(++named_[stem]);
  } while (find_agent(name) != nullptr);
  return name;
}

session::agent* session::find_agent(std::string_view name_or_id) {
  if (name_or_id.empty()) return nullptr;
  for (const auto& a : agents_) {
    if (a->name == name_or_id || (!a->id.empty() && a->id == name_or_id)) return a.get();
  }
  return nullptr;
}

session::agent* session::agent_of_tool_use(std::string_view tool_use) {
  if (tool_use.empty()) return nullptr;
  for (const auto& a : agents_) {
    if (a->tool_use == tool_use) return a.get();
  }
  return nullptr;
}

// The agent that the hook belongs to. An agent that digd has not seen, because it started while the daemon was away,
// joins.
session::agent* session::acting(const call& of) {
  if (of.agent.empty()) return of.tool_name.empty() || of.is_whole ? &main_agent() : nameless_agent_at_work();
  for (const auto& a : agents_) {
    if (a->id == of.agent) return a.get();
  }
  if (agents_.size() >= max_agents) {
    ++ignored_;
    return nullptr;
  }
  const std::string type = of.agent_type.empty() ? "subagent" : of.agent_type;
  agent& a = add_agent(free_name(of.tool == tool_kind::model ? of.agent : std::string(), type));
  a.type = type;
  a.id = of.agent;
  a.asked_by = &main_agent();
  if (!continues_) a.counted = usage_totals();
  out_.agent_joined(a.name);
  return &a;
}

// Some agents' hooks do not name the agent. While such agents act, the main agent waits for them. Null: several act,
// and the hook belongs to one of them.
session::agent* session::nameless_agent_at_work() {
  agent* only = nullptr;
  for (const auto& a : agents_) {
    if (!a->is_whole || a->activation.empty() || !a->id.empty()) continue;
    if (only != nullptr) return nullptr;
    only = a.get();
  }
  return only != nullptr ? only : &main_agent();
}

// The agent that a call ran. Some programs identify a call by its input only, which is longer if digd added a text to
// it. If no agent has the call, it is the first agent of the type.
session::agent* session::whole_agent_of(const call& of) {
  agent* first = nullptr;
  for (const auto& a : agents_) {
    if (!a->is_whole || a->cancelled || a->tool_use.empty()) continue;
    if (a->tool_use == of.tool_use) return a.get();
    if (first == nullptr && a->type == of.target) first = a.get();
  }
  return first;
}

// Gives the agent of a tool call its id. digd may have confused two agents of one type. Then they swap their ids. If
// one of them has already ended, its actions stay recorded under its name, and they swap their tool calls instead.
session::agent& session::bind(agent& slot, const std::string& id) {
  if (id.empty() || slot.id == id) return slot;
  for (const auto& other : agents_) {
    if (other->id != id) continue;
    const auto has_ended = [](const agent& a) { return a.started && a.activation.empty(); };
    if (has_ended(*other) || has_ended(slot)) {
      std::swap(other->tool_use, slot.tool_use);
      return *other;
    }
    std::swap(other->id, slot.id);
    std::swap(other->counted, slot.counted);
    return slot;
  }
  slot.id = id;
  return slot;
}

std::vector<std::string> session::read_inbox(agent& of, const agent* from) {
  std::vector<std::string> events;
  std::erase_if(of.inbox, [&](const unread& each) {
    if (from != nullptr && each.from != from) return false;
    events.push_back(each.event);
    return true;
  });
  return events;
}

void session::open(agent& a, const std::vector<std::string>& inputs) {
  std::vector<std::string> waiting = a.tasks;
  waiting.insert(waiting.end(), inputs.begin(), inputs.end());
  for (std::string& event : std::exchange(a.returned, {})) waiting.push_back(std::move(event));
  a.activation = out_.activation_started(a.name, waiting);
  a.started = true;
  a.failed = false;
  a.cancel_id.clear();
}

// New inputs for an agent that acts: its activation ends, and another begins with what still waits and these.
void session::turn_over(agent& a, const std::vector<std::string>& inputs) {
  if (inputs.empty() && !a.activation.empty()) return;
  if (!a.activation.empty()) out_.activation_ended(a.activation, a.tasks, nullptr);
  open(a, inputs);
}

void session::take_returned(agent& a) {
  if (a.returned.empty() || a.activation.empty()) return;
  out_.activation_ended(a.activation, a.tasks, nullptr);
  open(a, {});
}

void session::close_failed(agent& a, std::string_view problem) {
  out_.activation_failed(a.activation, problem);
  a.activation.clear();
  a.failed = true;
}

// Ends the agents that digd counts as acting although they no longer run: they were stopped without a hook. The program
// lists only the background agents of the main agent; the agents that a lost agent asked end with it.
void session::close_lost_agents(const call& of) {
  if (!of.lists_running) return;
  std::set<const agent*> lost;
  for (const auto& a : agents_) {  // an agent comes after the one that asked for it
    const bool is_listed = std::find(of.running.begin(), of.running.end(), a->id) != of.running.end();
    const bool should_be_listed = a->is_teammate || (a->in_background && a->asked_by == agents_.front().get());
    if (a->activation.empty() || a == agents_.front()) continue;
    if (should_be_listed ? (a->is_teammate ? of.has_teammates : is_listed) : !lost.contains(a->asked_by)) continue;
    lost.insert(a.get());
    close_failed(*a, "it no longer runs");
  }
}

// The hooks of a program that reports each reply of a model name no agent.
void session::count_reply(const call& of) {
  const agent* a = of.agent.empty() ? nameless_agent_at_work() : acting(of);
  if (a == nullptr || !of.spent || !takes_usage_ || a->activation.empty()) return;
  out_.add_usage(a->activation, *of.spent, 0);
}

void session::count_usage(const call& of, agent& a) {
  if (!of.usage || !takes_usage_ || a.activation.empty()) return;
  const usage_totals before = a.counted.value_or(*of.usage);
  a.counted = *of.usage;
  const usage_totals since{.input_tokens = of.usage->input_tokens - before.input_tokens,
                           .output_tokens = of.usage->output_tokens - before.output_tokens,
                           .model_calls = of.usage->model_calls - before.model_calls};
  // Totals fall when a transcript was compacted.
  if (since.input_tokens < 0 || since.output_tokens < 0 || since.model_calls < 0 || since == usage_totals()) return;
  out_.add_usage(a.activation, since, 0);
}

}  // namespace digd::hooks
