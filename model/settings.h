// The settings of one run: mode, clock, rules, limits and budget. Fixed when the run starts, except `operator_mode`.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/guard.h"
#include "model/limit.h"
#include "model/message.h"
#include "model/rule_id.h"

namespace digd {

// The version of the semantics that this engine implements. Archives and exported traces name the version that a run
// began with.
inline constexpr std::uint64_t semantics_version = 2;

enum class mode : std::uint8_t { off, observe, shadow, enforce };  // weakest first
enum class clock_kind : std::uint8_t { wall, trace };

std::string_view to_string(mode);
std::string_view to_string(clock_kind);
std::optional<mode> mode_from(std::string_view);
std::optional<clock_kind> clock_from(std::string_view);

struct rule_settings {
  digd::mode mode = digd::mode::enforce;
  std::vector<std::string> kinds;   // the rule judges only events of these kinds; empty: all
  std::vector<std::string> except;  // agents for which the rule only observes
  milliseconds window_ms = 0;       // of rules that judge by time
  std::uint64_t max_attempts = 0;   // for the run, or for each event (rule_traits::attempts)
  std::uint64_t max_reroutes = 0;   // ER
  bool skip_repeated = false;       // ET: repeated work does not count as unresolved
  std::string text;                 // replaces the rule's healing text; empty: does not
  bool operator==(const rule_settings&) const = default;
};

struct limits {
  milliseconds stalled_ms = 300'000;
  std::uint64_t settled_events = 100'000;
  std::uint64_t generators = 4096;
  std::uint64_t judging_work = 4'000'000;  // ids visited while judging one message
  std::uint64_t message_bytes = 1 << 20;
  milliseconds reorder_ms = 50;
  std::uint64_t agents = 100'000;         // names in the run, including agents that left
  std::uint64_t recipients = 100'000;     // of one event or reroute
  std::uint64_t inputs = 100'000;         // of one activation
  std::uint64_t live_events = 1'000'000;  // not settled
  std::uint64_t open_activations = 100'000;
  std::uint64_t sessions = 1'000;
  bool operator==(const limits&) const = default;
};

struct run_settings {
  digd::mode mode = digd::mode::enforce;
  clock_kind clock = clock_kind::wall;
  // With the trace clock: a daemon stamped the messages, because the trace is an export of a wall-clock run. Then due
  // windows fire before a message is checked, as they did in the daemon.
  bool stamped = false;
  std::array<rule_settings, rule_count> rules;  // `default_settings` (rules/rule.h) fills them from the catalog
  std::uint64_t budget = 1000;
  std::uint64_t max_returns_per_agent = 5;  // healings that make the same agent act again (rule_traits::returns)
  guard_settings guards;
  digd::limits limits;
  limit_policies over_limit;  // the policies beyond the limits
  // The operator's switch: an upper bound on the mode of every rule. It can change during the run.
  digd::mode operator_mode = digd::mode::enforce;

  rule_settings& of(rule_id id) { return rules[index_of(id)]; }
  const rule_settings& of(rule_id id) const { return rules[index_of(id)]; }
  // The weakest of the run's, the rule's and the operator's mode.
  digd::mode effective_mode(rule_id id) const { return std::min({mode, of(id).mode, operator_mode}); }
  bool operator==(const run_settings&) const = default;
};

// What a client can do with a held event.
struct capabilities {
  bool inject = true;
  bool reroute = true;
  bool create = true;
  bool hold = false;
  bool cancel = false;
  bool operator==(const capabilities&) const = default;

  static constexpr capabilities none() { return {false, false, false, false, false}; }
  // What this client or the other can do.
  constexpr void add(const capabilities& other) {
    inject |= other.inject;
    reroute |= other.reroute;
    create |= other.create;
    hold |= other.hold;
    cancel |= other.cancel;
  }
};

// The settings of a rule that a `hello` contains.
struct rule_request {
  std::optional<digd::mode> mode;
  std::optional<std::vector<std::string>> kinds;
  std::optional<std::vector<std::string>> except;
  std::optional<milliseconds> window_ms;
  std::optional<std::uint64_t> max_attempts;
  std::optional<std::uint64_t> max_reroutes;
  std::optional<bool> skip_repeated;
  std::optional<std::string> text;
};

// The limits that a `hello` contains; the names are those of `limits`.
struct limits_request {
  std::optional<milliseconds> stalled_ms;
  std::optional<std::uint64_t> settled_events;
  std::optional<std::uint64_t> generators;
  std::optional<std::uint64_t> judging_work;
  std::optional<std::uint64_t> message_bytes;
  std::optional<milliseconds> reorder_ms;
  std::optional<std::uint64_t> agents;
  std::optional<std::uint64_t> recipients;
  std::optional<std::uint64_t> inputs;
  std::optional<std::uint64_t> live_events;
  std::optional<std::uint64_t> open_activations;
  std::optional<std::uint64_t> sessions;
};

// The first frame of a connection, decoded. Owns its strings.
struct hello {
  std::int64_t protocol = 0;
  std::string run;
  std::string session = "main";
  std::optional<std::vector<std::string>> agents;  // if present, the roster is closed
  std::optional<digd::mode> mode;
  std::optional<clock_kind> clock;
  bool stamped = false;
  std::array<rule_request, rule_count> rules;
  std::optional<std::uint64_t> budget;
  std::optional<std::uint64_t> max_returns_per_agent;
  guards_request guards;
  std::optional<std::uint64_t> semantics;  // in exported traces: the version that the run began with
  limits_request limits;
  std::array<std::optional<limit_policy>, limit_policies::count> over_limit;
  capabilities able;
  bool witness = false;
  std::optional<std::uint64_t> answered_seq;  // the client has had every answer up to this seq
  std::string client;                         // name/version, for the log
  std::vector<std::pair<std::string, std::string>> labels;
};

}  // namespace digd
