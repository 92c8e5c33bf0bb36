// Session logs of coding agents into traces, for `digctl import claude-code` and the like.
//
// A log records the same facts as the hooks, so its lines become hook calls and take the path of a live session
// (session.h). The log states agents, tasks, results, messages, answers, times and usage. The trace marks everything
// else as `inferred` (docs/coding-agents.md).
//
// Thread: any; pure functions. Failure: none. Lines that cannot be read are left out, counted and named.
// Bounds: those of a session; memory is a small multiple of the logs.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace digd::hooks {

struct log_file {
  std::string name;        // for `damaged_line`
  std::string text;        // one JSON object a line; of Gemini CLI also one for the whole file
  std::string agent;       // Claude Code: id of the subagent whose log this is; empty: the main agent's
  std::string agent_type;  // Claude Code: both of a subagent, from the file beside its log
  std::string tool_use;
  std::string folder;  // the project's, if the log itself does not name it
};

struct damaged_line {
  std::string file;
  std::size_t line;  // from 1
  std::string reason;
};

struct imported_run {
  std::string run;
  std::vector<std::string> lines;  // the trace: a hello, then messages
};

struct imported_session {
  static constexpr std::size_t max_damaged = 16;  // further ones are only counted

  std::vector<imported_run> runs;
  std::size_t calls = 0;  // hook calls that the log stands for
  std::vector<damaged_line> damaged;
  std::size_t damaged_lines = 0;
};

// Guards that the traces ask for; 0: not this guard.
struct log_options {
  std::size_t max_repeats = 0;  // repetition
  std::size_t max_outputs = 0;  // fan_out
};

struct log_program {
  std::string_view name;   // in commands
  std::string_view title;  // for people
  std::string_view place;  // where the program keeps its logs
  // `files`: those of one session, in any order.
  imported_session (*import)(const std::string& session, const std::vector<log_file>& files,
                             const log_options& options);
};

imported_session import_claude_log(const std::string& session, const std::vector<log_file>& files,
                                   const log_options& options = {});
imported_session import_codex_log(const std::string& session, const std::vector<log_file>& files,
                                  const log_options& options = {});
imported_session import_gemini_log(const std::string& session, const std::vector<log_file>& files,
                                   const log_options& options = {});
// A line is a session ({"session":{…}}), a message or a part of its database, with the columns that the importer reads.
imported_session import_opencode_log(const std::string& session, const std::vector<log_file>& files,
                                     const log_options& options = {});

inline constexpr std::array log_programs = {
    log_program{"claude-code", "Claude Code", "~/.claude/projects", import_claude_log},
    log_program{"codex", "Codex CLI", "~/.codex/sessions", import_codex_log},
    log_program{"gemini", "Gemini CLI", "~/.gemini/tmp", import_gemini_log},
    log_program{"opencode", "opencode", "~/.local/share/opencode", import_opencode_log},
};

}  // namespace digd::hooks
