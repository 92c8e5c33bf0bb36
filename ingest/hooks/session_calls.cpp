// One function a kind of hook call.
#include <algorithm>
#include <utility>

#include "ingest/hooks/session.h"

namespace digd::hooks {

void session::take_prompt(const call& of, taken& into) {
  if (is_reminder(of)) return reminder_.clear();
  agent& main = main_agent();
  count_usage(of, main);
  if (!may_wait()) return;
  const std::string prompt = out_.event({}, {.recipients = {main.name}, .kind = "prompt", .text = of.text});
  wait_for_verdict(into, {.kind = waiting_kind::prompt, .event = prompt, .sender = &main});
  turn_over(main, {prompt});
  main.tasks.push_back(prompt);
}

void session::take_notification(const call& of) {
  agent& main = main_agent();
  agent* from = find_agent(of.bound_agent);
  if (from == nullptr) from = agent_of_tool_use(of.tool_use);
  std::vector<std::string> results;
  if (from != nullptr && of.tool == tool_kind::message) {
    results = read_mail(main, from);
  } else if (from != nullptr) {
    results = read_inbox(main, from);
    from->is_announced = true;
  } else if (main.tasks.empty()) {
    // A background command, or an agent started before digd, has a result: the run begins with it.
    results.push_back(out_.event({}, {.recipients = {main.name}, .kind = "prompt", .text = of.text}));
  }
  turn_over(main, results);
}

// ---- tools

void session::want_tool(const call& of, taken& into) {
  agent* caller = acting(of);
  if (caller == nullptr) return;
  if (of.tool == tool_kind::model) return want_model(of, *caller, into);
  if (caller->activation.empty()) open(*caller, read_inbox(*caller));
  count_usage(of, *caller);
  turn_over(*caller, read_mail(*caller));
  if (!may_wait()) return;
  if (of.tool == tool_kind::spawn) return want_spawn(of, *caller, into);
  if (of.tool == tool_kind::message) return want_message(of, *caller, into);
  if (of.tool == tool_kind::task_update && want_assignment(of, *caller, into)) return;
  if (!judges_tools_) return;
  const std::string made =
      out_.event(caller->activation,
                 {.kind = "tool_call", .text = {}, .tool = of.tool_name, .fingerprint = of.fingerprint, .fyi = true});
  wait_for_verdict(into, {.kind = waiting_kind::tool, .event = made, .sender = caller});
}

void session::want_spawn(const call& of, agent& caller, taken& into) {
  if (agents_.size() >= max_agents) {
    ++ignored_;
    return;
  }
  // If the program has no such agent type, nobody joins, so the event is orphaned, and the caller gets it back.
  const bool is_missing = missing_types_.contains(of.target);
  agent& child = add_agent(is_missing ? of.target : free_name(of.given_name, of.target));
  child.type = of.target;
  child.tool_use = of.tool_use;
  child.is_whole = of.is_whole;
  child.asked_by = &caller;
  child.counted = usage_totals();
  child.cancelled = is_missing;
  if (!is_missing) {
    out_.agent_joined(child.name);
    give_tasks_of_name(child);
  }
  child.spawn = out_.event(caller.activation,
                           {.recipients = {child.name}, .kind = "task", .text = of.text, .tool = of.tool_name});
  wait_for_verdict(into, {.kind = waiting_kind::spawn, .event = child.spawn, .sender = &caller, .receiver = &child});
}

void session::want_message(const call& of, agent& caller, taken& into) {
  agent* to = agent_addressed(of.target);
  if (to == nullptr) {
    if (agents_.size() >= max_agents || of.target.empty()) {
      ++ignored_;
      return;
    }
    to = &add_agent(of.target);
    to->external = true;
    out_.agent_joined(to->name);
  }
  // digd does not see how another process handles a message, so nothing waits for it.
  const std::string made = out_.event(
      caller.activation,
      {.recipients = {to->name}, .kind = "message", .text = of.text, .tool = of.tool_name, .fyi = to->external});
  if (!to->external) {
    to->inbox.push_back({.event = made, .from = &caller, .tool_use = of.tool_use, .is_mail = true});
    to->tool_use = of.tool_use;
    // A working agent and a teammate answer the agent that they work for. An agent that this message resumes answers
    // the sender.
    if (to != &main_agent() && !to->is_teammate && to->activation.empty()) to->asked_by = &caller;
  }
  wait_for_verdict(
      into, {.kind = waiting_kind::message, .event = made, .sender = &caller, .receiver = to, .tool_use = of.tool_use});
}

void session::finish_tool(const call& of, taken& into) {
  agent* caller = acting(of);
  if (caller == nullptr) return;
  if (takes_usage_ && !caller->activation.empty()) out_.add_usage(caller->activation, {}, 1);
  if (const auto asked = asked_.find(of.tool_use); asked != asked_.end()) {  // the user let it go
    asked->second.receiver->inbox.push_back(
        {.event = asked->second.event, .from = asked->second.sender, .tool_use = of.tool_use, .is_mail = true});
    asked_.erase(asked);
  }
  if (of.was_not_done) return return_sent(of.tool_use);
  if (of.tool == tool_kind::task_create) return create_task(of, *caller);
  if (of.tool == tool_kind::task_update) return update_task(of, *caller);
  if (of.is_whole) return finish_whole(of, *caller, into);
  read_results(of, *caller);
  agent* other = agent_of_tool_use(of.tool_use);
  if (of.tool == tool_kind::spawn && other != nullptr) {
    other = &bind(*other, of.bound_agent);
    other->in_background = !of.has_result;
    other->is_teammate = of.is_teammate;
    if (of.is_elsewhere && !other->started) {
      other->external = other->cancelled = true;
      out_.activation_ended(out_.activation_started(other->name, {other->spawn}), {}, nullptr);  // in its own session
      return;
    }
    if (!other->started && !of.has_result)
      return start_agent({.kind = call_kind::agent_started, .agent = of.bound_agent, .tool_use = of.tool_use});
    if (of.has_result) turn_over(*caller, read_inbox(*caller, other));
  } else if (of.tool == tool_kind::message && other != nullptr && of.bound_agent.empty() &&
             !other->activation.empty()) {
    turn_over(*other, read_inbox(*other));
  }
}

// The call ran the agent from its start to its end, and brought its result.
void session::finish_whole(const call& of, agent& caller, taken& into) {
  agent* child = whole_agent_of(of);
  if (child == nullptr) return;
  child = &bind(*child, of.bound_agent);
  child->tool_use.clear();
  if (child->activation.empty()) {
    child->tasks = {child->spawn};
    open(*child, {});
  }
  if (of.text.empty()) return close_failed(*child, "it ended without a message");
  const new_event result{.recipients = {caller.name}, .kind = "result", .text = of.text};
  const std::string made = out_.activation_ended(child->activation, {}, &result);
  child->activation.clear();
  child->tasks.clear();
  caller.inbox.push_back({.event = made, .from = child});
  if (!may_wait()) return turn_over(caller, read_inbox(caller, child));
  wait_for_verdict(into, {.kind = waiting_kind::brought, .event = made, .sender = child, .receiver = &caller});
}

void session::start_whole(const waiting& w) {
  agent& child = *w.receiver;
  if (!child.is_whole || child.cancelled || child.started) return;
  child.tasks = {child.spawn};
  open(child, {});
}

void session::read_results(const call& of, agent& caller) {
  std::vector<std::string> results;
  for (const std::string& id : of.results_of) {
    agent* from = find_agent(id);
    if (from == nullptr) continue;
    from->is_announced = true;
    for (std::string& event : read_inbox(caller, from)) results.push_back(std::move(event));
  }
  if (!results.empty()) turn_over(caller, results);
}

void session::fail_tool(const call& of) {
  agent* other = agent_of_tool_use(of.tool_use);
  if (of.tool != tool_kind::spawn) return return_sent(of.tool_use);
  if (other == nullptr || other->cancelled) return;
  if (of.no_target && missing_types_.size() < max_agents) missing_types_.insert(of.target);
  if (of.is_whole && !other->activation.empty()) {
    if (!of.no_target && !of.text.empty()) return close_failed(*other, of.text);
    discard_whole(*other);
  } else if (other->started) {
    return;
  }
  other->cancelled = true;
  out_.agent_left(other->name);
}

// ---- subagents

void session::start_agent(const call& of) {
  agent* child = find_agent(of.agent);
  if (child == nullptr) child = agent_of_tool_use(of.tool_use);
  if (child == nullptr) {
    // PostToolUse later reports which spawn this is (`bind`); until then digd takes the first free one of the type.
    const auto is_free = [&](const auto& a) {
      const bool is_wanted = a->type == of.agent_type || a->name == of.agent_type;  // a teammate's type is its name
      return a->id.empty() && !a->cancelled && !a->external && is_wanted && a != agents_.front();
    };
    const auto found = std::find_if(agents_.begin(), agents_.end(), is_free);
    child = found != agents_.end() ? found->get() : acting(of);
  }
  if (child == nullptr) return;
  bind(*child, of.agent);
  if (!child->activation.empty()) return;
  if (!child->started && !child->spawn.empty()) child->tasks = {child->spawn};
  child->failed = false;
  child->is_announced = true;
  open(*child, read_inbox(*child));
}

void session::stop_agent(const call& of, taken& into) {
  agent* child = acting(of);
  if (child == nullptr || !may_wait()) return;
  if (child->activation.empty()) open(*child, read_inbox(*child));
  take_returned(*child);
  count_usage(of, *child);
  child->is_announced = !child->in_background || child->is_teammate || child->asked_by != &main_agent();
  if (of.text.empty()) return close_failed(*child, "it ended without a message");
  agent& parent = child->asked_by != nullptr ? *child->asked_by : main_agent();
  const new_event result{.recipients = {parent.name}, .kind = "result", .text = of.text};
  const std::string made = out_.activation_ended(child->activation, {}, &result);
  child->activation.clear();
  child->tasks.clear();
  // The program resumes the main agent with a result. An agent of its own reads it between two steps.
  const bool is_mail = child->is_teammate || &parent != &main_agent();
  parent.inbox.push_back({.event = made, .from = child, .is_mail = is_mail});
  wait_for_verdict(into, {.kind = waiting_kind::result, .event = made, .sender = child, .receiver = &parent});
}

// ---- the main agent

void session::stop_main(const call& of, taken& into) {
  agent& main = main_agent();
  if (main.failed && main.activation.empty()) return;  // its turn ended with an error, which is not an answer
  if (!may_wait()) return;
  close_lost_agents(of);
  discard_whole_agents();
  if (main.activation.empty()) open(main, read_mail(main));
  take_returned(main);
  count_usage(of, main);
  if (options_.stop_is_answer) {
    // The agent reads a result that has arrived at its next step, without a hook.
    out_.set_inferred(options_.clock == "trace");
    turn_over(main, read_inbox(main));
    out_.set_inferred(of.is_inferred);
  } else if (has_open_agents() || !main.inbox.empty() || awaits_notification() || !of.running.empty() ||
             (of.has_teammates && has_teammate_with_mail())) {
    // The program resumes the main agent with each result; until the last one its stop is not an answer.
    out_.activation_ended(main.activation, main.tasks, nullptr);
    main.activation.clear();
    return;
  }
  settle_before_answer();
  const new_event answer{.kind = "answer", .text = of.text, .submit = true};
  const std::string made = out_.activation_ended(main.activation, {}, &answer);
  main.activation.clear();
  main.tasks.clear();
  wait_for_verdict(into, {.kind = waiting_kind::submit, .event = made, .sender = &main});
}

// A program without hooks reports a turn once it has ended: the run is the prompt and the answer. If hooks have
// reported the turn, there is nothing to add.
void session::end_turn(const call& of) {
  agent& main = main_agent();
  if (answered_ || main.failed || !main.activation.empty() || !main.tasks.empty()) return;
  open(main, {out_.event({}, {.recipients = {main.name}, .kind = "prompt", .text = of.prompt})});
  const new_event answer{.kind = "answer", .text = of.text, .submit = true};
  out_.activation_ended(main.activation, {}, &answer);
  main.activation.clear();
  answered_ = true;
  end_run();
}

// The model failed, or the user interrupted the agent. The agent's inputs stay open.
void session::fail_turn(const call& of) {
  agent* a = acting(of);
  if (a == nullptr || a->activation.empty()) return;
  count_usage(of, *a);
  close_failed(*a, of.text.empty() ? "its turn ended with an error" : std::string_view(of.text));
}

// Ends agents that digd still counts as acting although the call that ran them must have ended, because the user
// refused or stopped it.
void session::discard_whole_agents() {
  for (const auto& a : agents_) {
    if (a->is_whole && !a->activation.empty()) discard_whole(*a);
  }
}

void session::discard_whole(agent& a) {
  out_.activation_discarded(a.activation, a.tasks);
  a.activation.clear();
  a.tasks.clear();
  a.cancelled = true;
}

// Discards work that will never be done: spawns that the user or another hook refused and, once the main agent was
// reminded of them, agents that returned without a result.
void session::settle_before_answer() {
  for (const auto& a : agents_) {
    if (a->activation.empty() && !a->returned.empty() && a != agents_.front()) {
      const std::vector<std::string> returned = std::exchange(a->returned, {});
      out_.activation_discarded(out_.activation_started(a->name, returned), returned);
    }
    if (a->spawn.empty() || a->cancelled) continue;
    if (a->started && !(a->failed && was_reminded_)) continue;
    discard_event(*a, a->spawn);
    a->cancelled = true;
  }
  for (const auto& [tool_use, asked] : std::exchange(asked_, {})) discard_event(*asked.receiver, asked.event);
}

// ---- verdicts

reply session::deny(const waiting& w, const received_verdict& verdict) {
  if (w.receiver != nullptr) {
    std::erase_if(w.receiver->inbox, [&](const unread& each) { return each.event == w.event; });
    if (w.kind == waiting_kind::spawn) w.receiver->cancelled = true;
  }
  const auto& to = verdict.recipients;
  if (std::find(to.begin(), to.end(), w.sender->name) != to.end()) w.sender->returned.push_back(w.event);
  if (w.sender->returned.size() >= max_waiting) take_returned(*w.sender);
  return {reply_action::deny, verdict.inject};
}

// A spawn or a message waits for the program's user, who sees the question at once. Nothing else can wait.
reply session::hold(const waiting& w, const received_verdict& verdict) {
  if (w.kind == waiting_kind::spawn) return {reply_action::ask, verdict.inject};
  const bool is_sent = w.kind == waiting_kind::message || w.kind == waiting_kind::assignment;
  if (!is_sent || w.receiver->external || asked_.size() >= max_waiting) {
    out_.delivery(w.event, "as_is", "this step cannot wait");
    return {};
  }
  std::erase_if(w.receiver->inbox, [&](const unread& each) { return each.event == w.event; });
  asked_[w.tool_use] = {.event = w.event, .sender = w.sender, .receiver = w.receiver};
  return {reply_action::ask, verdict.inject};
}

// The parent has the result regardless of the verdict, because the call that brought it is done.
reply session::bring(const waiting& w, const received_verdict& verdict) {
  const bool is_as_is = verdict.action != "deliver" && verdict.action != "inject";
  if (is_as_is) out_.delivery(w.event, "as_is", "the agent has ended");
  turn_over(*w.receiver, read_inbox(*w.receiver, w.sender));
  if (is_as_is || verdict.inject.empty()) return {};
  return {reply_action::add_context, verdict.inject};
}

reply session::block(const waiting& w, const received_verdict& verdict) {
  agent& a = *w.sender;
  if (!options_.able.blocks_stops) {
    out_.delivery(w.event, "as_is", "the program cannot go on after an answer");
    if (w.kind == waiting_kind::submit) answered_ = true;
    return {};
  }
  if (verdict.inject.empty() || ++a.blocks > options_.max_blocks) {
    out_.delivery(w.event, "as_is", "the agent was blocked often enough");
    if (w.kind == waiting_kind::submit) answered_ = true;
    return {};
  }
  const auto& to = verdict.recipients;
  const bool is_back = std::find(to.begin(), to.end(), a.name) != to.end();
  if (verdict.action == "reroute" && w.receiver != nullptr) {
    std::erase_if(w.receiver->inbox, [&](const unread& each) { return each.event == w.event; });
  }
  if (w.kind == waiting_kind::submit) {
    was_reminded_ = true;
    reminder_ = cut(verdict.inject, call::max_text_bytes);
  }
  if (is_back) a.tasks = {w.event};
  open(a, {});
  return {reply_action::block, verdict.inject};
}

}  // namespace digd::hooks
