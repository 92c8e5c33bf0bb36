// A coding agent's session: its hook calls, in order, into the messages of its runs, and verdicts into replies.
//
// A run is one prompt of the user, `SESSION/PROMPT_ID`; a prompt that arrives while subagents still act belongs to
// their run. For each call, the caller asks `needs_run` (if true: `end_run`, `begin_run`, `joined`) and then calls
// `take`. If the call waits for a verdict, `answer` or `give_up` follows. After each of these it sends `lines`.
//
//   main agent    one activation a turn. The prompt waits until the turn that answers; results are consumed when read.
//   spawn         an event to an agent of its own (`general-purpose#2`), so that children of one type differ
//   subagent      an activation; its last message is an event to the agent that spawned or messaged it
//   model call    a separate activation of the caller, with an event to the model, which consumes it at once
//   shared task   an `fyi` event to nobody; when the task is assigned to an agent, also an event to that agent. An
//                 agent that takes the task has the `fyi` event as an input
//
// Thread: its owner's. No I/O, no clock. Bounds: `max_agents` agents a run (beyond that calls are ignored and counted),
// `max_waiting` calls that wait for verdicts. Failure: none; inconsistent calls are ignored and counted.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "ingest/hooks/call.h"
#include "ingest/hooks/dialect.h"
#include "ingest/hooks/run_writer.h"

namespace digd::hooks {

struct session_options {
  std::string program = "claude-code";
  std::string client_version;  // in the hello; empty: none
  std::string mode = "shadow";
  std::string clock = "wall";
  std::size_t max_blocks = 5;  // stops of an agent that digd answers with `block` in a run
  abilities able;
  bool stop_is_answer = false;  // dialect.h
  bool reports_messages = true;
  // Guards of runs from session logs; 0: not this guard.
  std::size_t max_repeats = 0, max_outputs = 0;
};

// A verdict, as the caller read it from a frame.
struct received_verdict {
  std::string action;  // deliver, inject, reroute, hold
  std::vector<std::string> recipients;
  std::string inject;
  bool is_guards = false;  // only guards ask for it
};

class session {
 public:
  static constexpr std::size_t max_agents = 4096;
  static constexpr std::size_t max_waiting = 256;
  static constexpr std::size_t max_notices = 16;  // texts that wait for an agent's next hook

  session(std::string id, session_options options) : id_(std::move(id)), options_(std::move(options)) {}

  const std::string& id() const { return id_; }
  const std::string& run() const { return run_; }  // empty: there is none
  std::uint64_t ignored() const { return ignored_; }

  // Whether a run has to begin before `take`.
  bool needs_run(const call& of) const;
  // Ends the current run, if there is one. Take its `lines` before `begin_run`, which drops them.
  void end_run();
  // Begins the run of this call. Returns its hello. `suffix`: appended to the run's id if a run with that id has ended.
  std::string begin_run(const call& of, std::string_view suffix = {});
  // The session has joined its run. `taken_seq`: the messages that the run already has; if there are any, the session
  // continues the run after a gap. `guards`: a guard is on, so the session reports usage. `judges_tools`: the run
  // judges all tool calls.
  void joined(std::uint64_t taken_seq, bool guards, bool judges_tools);
  // The run is lost (refused, deleted): the session continues without one.
  void lose_run() { run_.clear(); }

  struct taken {
    std::uint64_t judged_seq = 0;  // 0: `reply` is the answer; else the verdicts on this message decide
    hooks::reply reply;
  };
  taken take(const call& of);
  reply answer(std::uint64_t judged_seq, const received_verdict& verdict);
  // The verdict did not come in time, or never will.
  void give_up(std::uint64_t judged_seq);
  // The message was refused: there is nothing to answer.
  void drop(std::uint64_t judged_seq) { waiting_.erase(judged_seq); }
  // Calls were lost.
  void note_gap() { out_.gap(); }
  // Activations that the monitor wants to end: each ends with its agent's next hook.
  void cancel(const std::string& id, const std::vector<std::string>& activations, const std::string& text);
  // A hold has ended, and the event may be delivered. The program's user has decided on it, so nothing has to be done.
  void release(const std::string& id) { out_.carried_out(id, "released"); }
  // The monitor's messages to agents: its own event, or `event` that goes back to them. Agents get them with their next
  // hook.
  void intervene(const std::string& id, const std::string& event, const std::string& text,
                 const std::vector<std::string>& agents);

  std::vector<std::string> lines() { return out_.take_lines(); }

 private:
  struct agent;
  struct unread {
    std::string event;
    const agent* from;
    std::string tool_use = {};  // the call that sent it
    bool is_mail = false;       // the agent reads it between two steps, without a hook
  };
  // A task of the list that the agents share.
  struct shared_task {
    std::string event, text;
    agent* creator;
    agent* owner = nullptr;
    std::string owner_name = {};  // of an owner that does not exist yet
    std::string given = {};       // the event that gave it to its owner; empty: none
  };
  struct notice {
    std::string id, event, text;
  };
  struct agent {
    std::string name, type;
    std::string id;                  // empty: not known yet
    std::string spawn;               // the event that asked for it
    std::string tool_use;            // the tool call that asked for it
    std::string activation;          // open; empty: none
    std::vector<std::string> tasks;  // inputs that wait until it has answered
    std::vector<unread> inbox;       // events that it has not read
    // Events that came back to it. They are inputs of its next activation: a new one for each would reset what the
    // guard `fan_out` counts. At most `max_waiting`.
    std::vector<std::string> returned;
    std::vector<notice> notices;
    agent* asked_by = nullptr;  // gets its result
    bool started = false, failed = false, cancelled = false;
    bool is_whole = false;               // call.h
    bool external = false;               // another process's
    bool is_teammate = false;            // call.h
    std::string cancel_id, cancel_text;  // of the monitor's cancellation that waits for the next hook; empty: none
    bool in_background = false;          // its results come as notifications
    bool is_announced = true;            // the main agent had the notification of its last end
    std::size_t blocks = 0;
    std::optional<usage_totals> counted;  // empty: what it used before is not known
  };
  // `brought`: a result that the spawn's own call brought. Its agent has ended, and can take nothing back.
  enum class waiting_kind : std::uint8_t { prompt, spawn, message, assignment, tool, model, result, brought, submit };
  struct waiting {
    waiting_kind kind;
    std::string event;
    agent* sender = nullptr;    // whose hook waits
    agent* receiver = nullptr;  // of a spawn, a message, an assignment or a result
    std::string tool_use;
    bool takes_text = true;  // call.h
  };

  // A message on which the program's user decides. Its receiver reads it only after the tool call is done.
  struct asked_message {
    std::string event;
    agent* sender;
    agent* receiver;
  };

  // ---- session_calls.cpp: one function a kind of call
  void take_prompt(const call& of, taken& into);
  void take_notification(const call& of);
  void want_tool(const call& of, taken& into);
  void want_spawn(const call& of, agent& caller, taken& into);
  void want_message(const call& of, agent& caller, taken& into);
  void finish_tool(const call& of, taken& into);
  void finish_whole(const call& of, agent& caller, taken& into);
  void fail_tool(const call& of);
  void start_agent(const call& of);
  void stop_agent(const call& of, taken& into);
  void stop_main(const call& of, taken& into);
  void end_turn(const call& of);
  void fail_turn(const call& of);
  void read_results(const call& of, agent& caller);
  void settle_before_answer();
  void discard_whole_agents();
  void discard_whole(agent& a);
  void start_whole(const waiting& w);
  reply bring(const waiting& w, const received_verdict& verdict);
  reply deny(const waiting& w, const received_verdict& verdict);
  reply hold(const waiting& w, const received_verdict& verdict);
  reply block(const waiting& w, const received_verdict& verdict);

  // ---- session_models.cpp: calls of language models
  void want_model(const call& of, agent& caller, taken& into);
  void read_by_model(const waiting& w);

  // ---- session_tasks.cpp: the shared task list, and what agents read without a hook
  bool want_assignment(const call& of, agent& caller, taken& into);
  void create_task(const call& of, agent& caller);
  void update_task(const call& of, agent& caller);
  void take_task(shared_task& task, agent& by);
  void end_task(const shared_task& task, const call& of, agent& by);
  void give_tasks_of_name(agent& to);
  agent* agent_addressed(const std::string& name);
  std::vector<std::string> read_mail(agent& of, const agent* from = nullptr);
  void return_sent(const std::string& tool_use);
  void take_over(const agent& by, const agent& receiver, const std::string& event);
  void discard_event(const agent& of, const std::string& event);
  bool has_teammate_with_mail() const;

  // ---- session_agents.cpp: which agent a call belongs to, activations, usage
  agent& main_agent() { return *agents_.front(); }
  agent& add_agent(std::string name);
  std::string free_name(const std::string& wanted, const std::string& type);
  agent* acting(const call& of);
  agent* find_agent(std::string_view name_or_id);
  agent* agent_of_tool_use(std::string_view tool_use);
  agent* whole_agent_of(const call& of);
  agent* nameless_agent_at_work();
  agent& bind(agent& slot, const std::string& id);
  std::vector<std::string> read_inbox(agent& of, const agent* from = nullptr);
  void open(agent& a, const std::vector<std::string>& inputs);
  void turn_over(agent& a, const std::vector<std::string>& inputs);
  void take_returned(agent& a);
  void close_failed(agent& a, std::string_view problem);
  void close_lost_agents(const call& of);
  void count_reply(const call& of);
  void count_usage(const call& of, agent& a);

  // ---- session.cpp
  std::string run_of(const call& of) const;
  bool has_open_agents() const;
  bool is_reminder(const call& of) const;
  bool awaits_notification() const;
  bool may_wait();
  void wait_for_verdict(taken& into, waiting w);
  void hand_over_notices(const call& of, taken& into);
  bool cancel_agent(const call& of, taken& into);

  const std::string id_;
  const session_options options_;
  std::string run_;
  std::string run_without_suffix_;
  run_writer out_;
  std::vector<std::unique_ptr<agent>> agents_;  // the first is the main agent
  std::map<std::string, std::size_t> named_;    // how many agents of a type
  std::set<std::string> missing_types_;
  std::map<std::uint64_t, waiting> waiting_;    // by seq
  std::map<std::string, asked_message> asked_;  // by tool use; at most `max_waiting`
  std::map<std::string, shared_task> shared_;   // by id; at most `max_agents`
  std::string model_, branch_;                  // of the session's start, or as they changed since
  std::optional<usage_totals> main_counted_;    // of the main agent, whose totals continue from run to run
  bool takes_usage_ = false, judges_tools_ = false, continues_ = false;
  bool answered_ = false;      // a submit event was let through
  bool was_reminded_ = false;  // a submit event was given back
  std::string reminder_;       // the text of the last one, as a prompt has it
  std::uint64_t ignored_ = 0;
};

}  // namespace digd::hooks
