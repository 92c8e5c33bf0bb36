// The hooks of one coding agent: its calls into `call`, and a `reply` into its answers.
//
// Thread: any; pure functions. Failure: a refusal with the field and what was expected.
#pragma once

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <boost/system/result.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ingest/hooks/call.h"

namespace digd::hooks {

struct bad_call {
  std::string field;
  std::string message;
};
// For boost::system::result.
[[noreturn]] inline void throw_exception_from_error(const bad_call& e, const boost::source_location&) {
  throw std::runtime_error(e.field + ": " + e.message);
}

// How the program treats answers.
struct abilities {
  bool inject = true, give_back = true, hold = false, cancel = false;
  bool adds_context_before_tools = true;
  bool blocks_stops = true;
};

// A hook that the program's documentation names, and its meaning to digd for the main agent.
struct known_hook {
  std::string_view name;
  call_kind kind;
};

struct dialect {
  std::string_view name;              // in paths and commands
  std::span<const known_hook> hooks;  // docs/coding-agents.md lists the same
  abilities able;
  // The main agent's stop is its answer, even while subagents act. Otherwise the program resumes it with each result.
  bool stop_is_answer = false;
  // False: it reports no messages between agents, so the rules are off and only the guards judge.
  bool reports_messages = true;
  // After this long without a call digd ends a session's run; 0: `connections.quiet_ms` decides alone. Set for programs
  // that do not report the end of a session.
  std::int64_t max_quiet_ms = 0;
  boost::system::result<call, bad_call> (*read)(const boost::json::object& hook);
  // The body of the answer; "{}" changes nothing.
  std::string (*write)(const call& of, const reply& answer);
};

// Null: there is none of this name.
const dialect* find_dialect(std::string_view name);

std::vector<std::string> dialect_names();

extern const dialect claude_code;
extern const dialect codex;
extern const dialect gemini;
extern const dialect opencode;
// Of a gateway, not of a coding agent: it has a path of its own, and `find_dialect` does not find it.
extern const dialect litellm;

// ---- for the dialects

// `other`: the program's documentation has no hook of this name.
call_kind kind_in(std::span<const known_hook> hooks, std::string_view name);
// The text of a member; empty if there is none or it is not a text.
std::string text_of(const boost::json::object& from, std::string_view member);
// Null: there is no such member, or it is not an object.
const boost::json::object* object_of(const boost::json::object& from, std::string_view member);
bool is_true(const boost::json::object& from, std::string_view member);
// 0: there is no such member, or it is not a whole number above 0.
std::int64_t count_of(const boost::json::object& from, std::string_view member);
// `text` up to `max_bytes`, cut between characters.
std::string cut(std::string_view text, std::size_t max_bytes);
// What `digctl hook` adds as `digd`: it reads transcripts as the user.
void read_additions(const boost::json::object& hook, call& into);
// Reads what the hooks have in common: name, session and folder. With `prompt_member`, the member that has the id of
// the prompt, also that id, the subagent and the model. Returns why the call is refused.
std::optional<bad_call> read_head(const boost::json::object& hook, std::string_view prompt_member, call& into);
// An answer that refuses a step: {"decision":…,"reason":…}.
std::string decision_body(std::string_view decision, std::string_view reason);
// An answer with what the hook adds: {"hookSpecificOutput":…}.
std::string output_body(boost::json::object output);
void add_permission(boost::json::object& output, std::string_view decision, std::string_view reason);
// Equal for equal calls of a tool.
std::string fingerprint_of(std::string_view tool, const boost::json::object& input);

}  // namespace digd::hooks
