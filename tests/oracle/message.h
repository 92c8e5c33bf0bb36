// One line of a trace: decoding and the checks that need no graph.
#pragma once

#include "model.h"

#include <boost/json.hpp>

namespace oracle {

// In the order of docs/protocol.md: of several errors the first is reported.
enum class error_code {
  bad_json,
  bad_message,
  bad_seq,
  too_large,
  over_limit,
  unknown_event,
  unknown_activation,
  activation_closed,
  duplicate_event,
  duplicate_activation,
  reserved_id,
  settled_event,
  not_an_input,
  failed_with_outputs,
  submit_without_source,
  run_closed,
  unauthorized,
  unsupported_protocol,
  hello_conflict,
  moved,
  hold_closed
};

enum class message_type {
  agent_joined,
  agent_left,
  event,
  activation_started,
  activation_ended,
  delivery,
  gap,
  time,
  run_ended,
  usage
};

struct event_fields {
  std::string id_;
  std::optional<std::string> source_;
  std::vector<std::string> recipients_;  // each once, in the order first named
  std::optional<std::string> kind_;
  bool submit_ = false;
  bool fyi_ = false;
  std::optional<std::string> fingerprint_;
};

struct reaction_fields {
  reaction_kind kind_ = reaction_kind::consume;
  std::vector<std::string> targets_;
};

struct message {
  message_type type_ = message_type::time;
  std::string session_;
  std::int64_t seq_ = 0;
  std::optional<std::int64_t> ts_;
  std::string agent_;
  std::string activation_;
  std::vector<std::string> inputs_;
  event_fields event_;
  std::vector<event_fields> outputs_;
  std::map<std::string, reaction_fields> reactions_;
  bool failed_ = false;
  bool as_is_ = false;
  std::string reported_event_;  // delivery: the event that the report names
  bool reports_of_ = false;     // reported_event_ is the id of an intervention
  std::optional<usage_record> usage_;
  bool applied_as_is_ = false;
  bool reports_at_end_ = false;  // run_ended: the outcome is neither success nor aborted
};

// Returns the invalid field, or none if `out` is complete. The caller sets seq and session.
std::optional<std::string> decode_message(const boost::json::object& line, message& out);

settings decode_settings(const boost::json::object& hello);
guard_settings decode_guards(const boost::json::object& hello, guard_settings base);
// Returns `base` with the settings of this hello. The result differs from the run's rules if the hello contradicts
// them.
using all_rules = std::array<rule_settings, rule_count + guard_count>;
all_rules decode_rules(const boost::json::object& hello, all_rules base);
std::string event_named_by(const std::string& of);
capabilities decode_capabilities(const boost::json::object& hello);
std::optional<mode> decode_mode(const boost::json::object& from);
std::vector<std::string> each_once(const std::vector<std::string>& names);

// Returns null for a field that is missing or JSON null.
const boost::json::value* field(const boost::json::object& from, std::string_view name);

const char* name_of(rule r);
const char* name_of(error_code c);

}  // namespace oracle
