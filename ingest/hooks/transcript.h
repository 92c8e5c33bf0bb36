// What a transcript of Claude Code or Codex says about usage. Pure; a line that is not JSON is skipped.
#pragma once

#include <boost/json/object.hpp>
#include <string>
#include <string_view>

#include "ingest/hooks/call.h"

namespace digd::hooks {

// The `usage` of one reply.
usage_totals usage_of(const boost::json::object& usage);

// The model of a reply of Claude Code; empty: the program itself wrote it.
std::string model_of(const boost::json::object& reply);

struct transcript_facts {
  usage_totals usage;  // input includes what was read from and written to the cache
  std::string model;   // of the last reply that names one
};

// The longest transcripts that are read while an agent waits for its hook. The bound is lower before a tool call,
// because each tool call waits. The usage of a longer transcript counts at the agent's next stop.
constexpr std::size_t max_transcript_bytes = 64u << 20;
constexpr std::size_t max_transcript_bytes_per_tool = 4u << 20;

// The file that has the totals of the agent that acts; empty: this hook needs none.
std::string transcript_for(std::string_view program, const boost::json::object& hook);
bool is_long_transcript_read(std::string_view hook_name);

// A file of the subagent that acts, beside the session's transcript; empty: no subagent acts.
std::string subagent_file(const boost::json::object& hook, std::string_view suffix);

// `lines`: the transcript, one JSON object a line. The parts of one reply count once.
transcript_facts read_transcript(std::string_view lines);

}  // namespace digd::hooks
