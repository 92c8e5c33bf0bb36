// The session logs of Claude Code (its transcripts) into traces, for `digctl import claude-code`.
//
// A transcript says what the hooks would have said, so each line becomes hook calls and takes the path of a live
// session (session.h). Stated by the log: agents, tasks, results, messages, answers, times, usage. Inferred: an agent
// stops with the last text of a reply that ended its turn. Pure; never throws. Lines that are no JSON are skipped and
// counted.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace digd::hooks {

struct log_file {
  std::string text;        // one JSON object a line
  std::string agent;       // id of the subagent whose log this is; empty: the main agent's
  std::string agent_type;  // both of a subagent, from the file beside its log
  std::string tool_use;
};

struct imported_run {
  std::string run;
  std::vector<std::string> lines;  // the trace: a hello, then messages
};

struct imported_session {
  std::vector<imported_run> runs;
  std::size_t calls = 0;          // hook calls that the log stands for
  std::size_t skipped_lines = 0;  // no JSON
};

// `files`: those of one session, in any order.
imported_session import_claude_log(const std::string& session, const std::vector<log_file>& files);

}  // namespace digd::hooks
