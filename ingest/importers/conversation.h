// A log as a conversation: turns of agents in one order, as Who&When and most frameworks record it. One mapping to
// messages serves them all (docs/importers.md).
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "ingest/importers/whowhen_text.h"
#include "ingest/trace/import_result.h"
#include "ingest/trace/json_reader.h"
#include "ingest/trace/trace_writer.h"

namespace digd::importers {

// Views of the parsed document or of the importer's own tables, which the caller keeps.
struct turn {
  std::string_view agent;                    // as the protocol allows it
  std::vector<std::string_view> addressees;  // stated by the log
  std::string_view role;
  std::string_view text;
  step_form form = step_form::plain;
  bool notice = false;
  bool final = false;  // the log states that this turn answers the user

  bool speaks() const { return form != step_form::human && !notice; }
};

struct conversation {
  std::vector<turn> turns;
  std::vector<std::string_view> agents;      // the roster, in order of appearance
  std::optional<std::string_view> question;  // a separate root event, if no turn is the user's
  std::string_view question_id;
  std::optional<bool> correct;
  std::string_view code_runner;    // the agent that reported executions; empty: none
  bool hand_crafted = false;       // Who&When: the subset
  bool addresses_in_text = false;  // whether a name at the start of a sentence addresses that agent
};

struct conversation_times {
  std::int64_t step_ms = 1000;
  std::int64_t quiet_ms = 15'000;
};

// Fails the reader with `bad_option` if a time is out of its range: 1 ms to a minute, and 0 to a day.
void check_times(const conversation_times& times, json_reader& reader);

// Writes all messages after `hello`, and counts them.
void write_conversation(const conversation& log, const conversation_times& times, trace_writer& writer,
                        import_counts& counts);

}  // namespace digd::importers
