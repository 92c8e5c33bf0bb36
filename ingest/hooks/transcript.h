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

// `lines`: the transcript, one JSON object a line. The parts of one reply count once.
transcript_facts read_transcript(std::string_view lines);

}  // namespace digd::hooks
