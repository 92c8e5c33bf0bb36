// The history of a run as the oracle keeps it: it deletes nothing and stores no derived counts.
// Forgetting (limits.settled_events) only hides records from look-ups by id; live events still refer to them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace oracle {

// In the order in which docs/rules.md judges and reports them.
enum class rule {
  early_termination,
  orphaned_event,
  excessive_rerouting,
  cross_lineage_aggregation,
  repeated_subproblem,
  deadlock,
  missing_termination,
  budget,  // the guards of docs/guards.md, from here on
  fan_out,
  repetition,
  stall
};
inline constexpr std::size_t rule_count = 7;
inline constexpr std::size_t guard_count = 4;
inline bool is_guard(rule r) { return static_cast<std::size_t>(r) >= rule_count; }

// Weakest first, so that std::min gives the weaker of two.
enum class mode { off, observe, shadow, enforce };

struct rule_settings {
  mode mode_ = mode::enforce;
  std::set<std::string> kinds_;
  std::set<std::string> except_;  // agents for which the rule only observes
  std::int64_t window_ms_ = 0;
  std::int64_t max_attempts_ = 3;
  std::int64_t max_reroutes_ = 2;
  bool skip_repeated_ = false;
  bool operator==(const rule_settings&) const = default;
};

// Limits by their names; costs in millionths. A guard without a limit is off.
struct guard_settings {
  std::map<std::string, std::int64_t> limits_;
  std::string per_ = "run";
  double warn_at_ = 0.8;
  std::int64_t window_ = 50;
  std::array<std::vector<std::string>, guard_count> actions_{
      {{"return"}, {"return"}, {"inject", "return"}, {"observe"}}};
  std::int64_t hold_ms_ = 300000;
  std::string on_timeout_ = "release";
  bool operator==(const guard_settings&) const = default;
};

struct settings {
  mode mode_ = mode::enforce;
  std::string clock_;
  std::array<rule_settings, rule_count + guard_count> rules_;
  guard_settings guards_;
  std::int64_t budget_ = 1000;
  std::int64_t max_returns_per_agent_ = 5;
  std::int64_t stalled_ms_ = 300000;
  std::int64_t settled_events_ = 100000;
  std::int64_t generators_ = 4096;
};

struct capabilities {
  bool inject_ = true;
  bool reroute_ = true;
  bool create_ = true;
  bool hold_ = false;
  bool cancel_ = false;
};

struct session {
  std::int64_t expected_seq_ = 1;
  capabilities capabilities_;
};

enum class delivery_state { pending, consumed, discarded, rerouted, lost, withdrawn, unknown };

struct delivery {
  std::string agent_;
  delivery_state state_ = delivery_state::pending;
  bool give_back_ = false;    // a healing made this delivery, or gave the event again while it was pending
  bool intercepted_ = false;  // the latest return or cancel on the event withdrew it
};

// A condition that must hold without a break. If the window neither runs nor has fired, the condition is false.
struct window {
  std::optional<std::int64_t> since_;
  bool fired_ = false;             // fired unhealed: does not run until the condition has been false
  bool fired_since_true_ = false;  // fired, healed or not, since the condition became true
};

enum class reaction_kind { consume, wait, discard, reroute };

struct event_record {
  std::string id_;
  std::optional<std::size_t> source_;  // index of an activation
  std::optional<std::string> kind_;
  bool submit_ = false;
  bool fyi_ = false;
  bool system_ = false;
  bool placeholder_ = false;      // named as an input, not yet filled in
  bool repeated_ = false;         // work whose source repeats other work
  bool submit_returned_ = false;  // was a submit event until ET gave it back
  bool settled_ = false;
  bool forgotten_ = false;
  std::vector<std::size_t> derived_from_;  // events
  std::set<std::size_t> generators_;       // activations
  std::vector<delivery> deliveries_;       // all, including finished ones, oldest first
  std::vector<std::string> addressees_;    // its recipients, as told
  std::optional<std::string> fingerprint_;
  bool to_nobody_ = false;
  window orphan_;
  std::int64_t orphan_attempts_ = 0;
  std::int64_t window_give_backs_ = 0;
};

struct activation_record {
  std::string id_;
  std::string agent_;
  std::vector<std::size_t> inputs_;       // events
  std::vector<std::size_t> outputs_;      // events
  std::vector<reaction_kind> reactions_;  // parallel to inputs_ after a successful end, otherwise empty
  std::optional<std::vector<std::size_t>> used_inputs_;
  std::optional<bool> repeats_;  // fixed by the first output or the end
  bool open_ = true;
  bool failed_ = false;
  bool stalled_ = false;
  bool forgotten_ = false;
  std::int64_t started_ms_ = 0;
  std::int64_t last_sign_ms_ = 0;  // start or latest output
  std::int64_t last_word_ms_ = 0;  // start, latest output or usage
  std::size_t silent_steps_ = 0;   // of the guard stall, since then
};

struct usage_record {
  std::string agent_;
  std::int64_t tokens_ = 0, cost_ = 0, model_calls_ = 0, tool_calls_ = 0;
};

// A person let a run (no agent) or an agent go on.
struct restart_record {
  std::optional<std::string> agent_;
  std::size_t usages_ = 0, activations_ = 0;  // that came before
  std::int64_t ts_ = 0;
};

struct firing_record {
  rule guard_;
  std::optional<std::string> sender_;
  bool warning_ = false;
  std::vector<std::string> limits_;
};

struct hold_record {
  std::size_t event_ = 0;
  std::set<std::string> agents_;
  std::optional<std::string> sender_;
  std::optional<std::string> spender_;
  rule guard_ = rule::budget;
  std::int64_t since_ = 0;
  bool open_ = true;
};

// A judged message found a limit of a run (no agent) or an agent passed.
struct passed_record {
  std::optional<std::string> agent_;
  std::string limit_;
  std::size_t restarts_ = 0;  // that came before
};

struct history {
  settings settings_;
  std::map<std::string, session> sessions_;
  bool open_roster_ = true;
  std::set<std::string> roster_;
  std::vector<event_record> events_;
  std::vector<activation_record> activations_;
  std::vector<std::size_t> ended_since_gap_;  // activations, in the order in which they ended
  std::vector<std::size_t> settled_order_;    // events
  std::int64_t clock_ = 0;
  std::optional<std::int64_t> first_message_ms_;
  std::vector<usage_record> usages_;
  std::vector<restart_record> restarts_;
  std::vector<firing_record> firings_;
  std::vector<passed_record> passed_;
  std::vector<hold_record> holds_;    // number n is at n - 1
  std::vector<std::size_t> outputs_;  // events with a source, in the order recorded
  std::size_t cancels_ = 0;
  bool terminal_ = false;  // a submit event was let through
  bool ended_ = false;     // run_ended
  window deadlock_;
  window missing_termination_;
  std::array<std::int64_t, rule_count> attempts_{};  // per run; orphaned_event counts per event
  std::map<std::string, std::int64_t> returns_;      // by agent: healings that made it act again
  std::int64_t budget_spent_ = 0;
  std::size_t system_events_ = 0;
};

}  // namespace oracle
