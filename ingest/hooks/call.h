// One hook call of a coding agent in terms that all dialects share, and the hook's answer.
#pragma once

#include <boost/json/object.hpp>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace digd::hooks {

enum class call_kind : std::uint8_t {
  other,          // a hook that digd does not know; accepted and counted
  unused,         // a known hook that digd does not use; accepted and counted
  prompt,         // the user asks the main agent
  notification,   // the main agent gets a background agent's result
  tool_wanted,    // before a tool call; it waits for the answer
  tool_done,      // after a tool call
  tool_failed,    // after a tool call that failed
  agent_started,  // a subagent begins to act
  agent_stopped,  // a subagent is about to end; it waits for the answer
  stopped,        // the main agent is about to end its turn; it waits for the answer
  turn_ended,     // the main agent has answered, as a program without hooks reports it; nothing waits
  turn_failed,    // an agent's turn ended without an answer: an error, or the user interrupted it
  model_done,     // a model has replied; `spent` has its usage
  // The session begins or continues, or its model changes: `model` and `branch` are for its next runs.
  session_started,
  session_ended,
};

// `task_create`, `task_update`: of the task list that the agents of a session share. `model`: a call of a language
// model, as a gateway reports it.
enum class tool_kind : std::uint8_t { other, spawn, message, task_create, task_update, model };

enum class task_change : std::uint8_t { none, taken, ended };

// Totals of an agent since its session began.
struct usage_totals {
  std::int64_t input_tokens = 0, output_tokens = 0, model_calls = 0;
  bool operator==(const usage_totals&) const = default;
};

struct call {
  static constexpr std::size_t max_session_bytes = 128;
  static constexpr std::size_t max_id_bytes = 120;
  static constexpr std::size_t max_text_bytes = 32 * 1024;  // longer texts are cut
  static constexpr std::size_t max_results = 256;           // further ones are not recorded

  call_kind kind = call_kind::other;
  std::string name;  // the hook's own name
  std::string session;
  std::string prompt_id;
  std::string agent;  // id of the subagent that acts; empty: the main agent
  std::string agent_type;
  bool is_internal = false;  // the acting agent has no type: the program's own agent, unless its start was reported
  std::string folder, branch, model;
  std::string mode;       // the mode that the call asks for; empty: none
  bool is_alone = false;  // no other call belongs to its session

  tool_kind tool = tool_kind::other;
  std::string tool_name;
  std::string tool_use;       // the id of the tool call
  std::string target;         // of a spawn: the type. Of a message: who it is for. Of a model call: the model
  std::string given_name;     // of a spawn
  std::string bound_agent;    // the agent that a spawn started, or that a message or a notification is about
  bool has_result = false;    // of a spawn that is done: it brought the agent's result with it
  bool is_whole = false;      // of a spawn: the agent lives as long as the call, and has no hooks of its own
  bool no_target = false;     // of a failed spawn: there is no such type
  bool is_teammate = false;   // of a spawn: the agent lives on, and its results come without a notification
  bool is_elsewhere = false;  // a teammate in a process of its own: its hooks name another session
  bool takes_text = true;     // of a model call: a text can be added to what the model reads
  bool was_not_done = false;  // the program did not send the message, or did not change the task
  std::string task;           // the id of a task; of `task_update`, `target` is its new owner, if any
  task_change change = task_change::none;
  std::vector<std::string> results_of;  // agents whose results this call brought
  boost::json::object input;            // of the tool
  std::string fingerprint;              // equal calls of a tool have equal ones

  std::string text;                  // prompt, last message or error
  std::string prompt;                // of a turn that has ended: what the user asked
  bool was_blocked = false;          // of a stop: digd answered an earlier stop with `block`
  bool lists_running = false;        // `running` is known
  std::vector<std::string> running;  // agents that still run in the background, other than teammates
  bool has_teammates = false;        // with `lists_running`: teammates still live
  std::string transcript;            // the file with the totals of the acting agent; empty: no need to read it now
  bool may_read_long = false;  // whether to read even a long transcript: this hook is rare enough for the agent to wait
  std::optional<usage_totals> usage;
  std::optional<usage_totals> spent;  // since the agent's last call
  std::optional<std::int64_t> ts;     // of a session log, Unix milliseconds
  bool is_inferred = false;           // of a session log, which does not state this step
};

// What the hook does. `none`: nothing, so that the agent behaves as without digd.
enum class reply_action : std::uint8_t {
  none,
  add_context,
  amend_input,
  deny,
  ask,  // the program asks its user
  block,
  cancel,  // the agent ends here
};

struct reply {
  reply_action action = reply_action::none;
  std::string text;
};

}  // namespace digd::hooks
