// One run: its graph, the rules, healing, and time. `run::apply` is the path of a message.
//
// A live socket, a trace file, a recovered archive and a simulation make the same calls. The caller gives messages and
// times and gets answers, so that a replay is exact. No I/O, no clock, no threads: a run belongs to its engine thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "engine/windows.h"
#include "graph/graph.h"
#include "graph/witness.h"
#include "healing/healer.h"
#include "healing/outcomes.h"
#include "healing/verdicts.h"
#include "model/answer.h"
#include "model/message.h"
#include "model/settings.h"
#include "rules/rule.h"

namespace digd {

inline constexpr std::string_view run_closed_words = "the run has ended; begin a new one under another id";

// The session that a message comes from.
struct speaker {
  std::string_view session = "main";
  capabilities able;
};

// The event that a delivery report is about: the one it names, or that of the intervention it answers.
std::string_view reported_event(const message& m);

class run {
 public:
  // `first`: the hello that opens the run. If it names agents, the roster is closed.
  run(const run_settings& settings, const hello& first);
  run(const run&) = delete;
  run& operator=(const run&) = delete;

  // A session's hello, the first one's too: its agents join.
  void join(const hello& session);
  // What at least one session can do; it decides whether a window can be healed.
  void set_able(const capabilities& any) { window_able_ = any; }

  // Applies one message. `stamp` is its time with the wall clock; with the trace clock its own `ts` counts.
  // A refused message changes nothing. `out` is cleared first.
  void apply(const message& m, const speaker& from, milliseconds stamp, answer& out);

  // Time passes without a message: applies what is due by `now`. `out` is cleared first.
  void advance(milliseconds now, answer& out);

  // A limit was hit, and its policy is not to refuse: from `stamp` on judging stops, or the run forgets what is
  // pending, as with a `gap`. Adds the consequences to `out`.
  void degrade(limit_id hit, limit_policy policy, milliseconds stamp, answer& out);
  // Whether `degrade` would change anything.
  bool can_degrade(limit_id hit, limit_policy policy) const;
  // The limit that stopped judging; none: the run is judged.
  std::optional<limit_id> unjudged() const { return unjudged_; }

  // Continues a run of an older version under the current semantics, from `stamp` on. Forgets what is pending, as with
  // a `gap`.
  void adopt_semantics(milliseconds stamp, answer& out);

  // The operator's switch for all rules of the run, from `stamp` on (with the trace clock: from the run's own time).
  void switch_mode(mode strongest, milliseconds stamp, answer& out);

  // The time at which something is next due; none if nothing is.
  std::optional<milliseconds> next_due() const;

  // Whether `m` names an event or activation that this run has not seen.
  bool names_unseen(const message& m) const;

  milliseconds clock() const { return clock_; }
  bool terminal() const { return terminal_; }
  bool ended() const { return ended_; }
  const run_settings& settings() const { return settings_; }
  const graph::graph& graph() const { return graph_; }
  const healer& healing() const { return healer_; }
  std::uint64_t system_events() const { return interventions_.created(); }

 private:
  refusal_note check(const message& m) const;  // engine/check.cpp
  void pass_through(const message& m, milliseconds time, answer& out);
  void stop_judging(limit_id cause, answer& out);
  void forget_pending(answer& out);
  void finish(answer& out);
  milliseconds time_of(const message& m, milliseconds stamp) const;
  milliseconds time_of_daemon(milliseconds stamp) const;
  void advance_to(milliseconds now, answer& out);
  void apply_due(const due_item& due, answer& out);
  void fire(const due_item& due, answer& out);
  finding find_due(const due_item& due) const;
  void report_at_end(answer& out);

  // engine/recording.cpp
  void record(const message& m);
  void record_end(const message& m);
  void record_outputs(const message& m, graph::activation_index source);
  void record_delivery_report(const message& m);
  void submit(bool clean);

  // engine/judging.cpp
  void judge(const message& m, const speaker& from, answer& out);
  void judge_event(held_event& held, verdict& v, const message& m, const speaker& from, answer& out);
  bool ask_rules(const blocked_event& blocked);
  std::uint32_t report(const finding& found, const remedy& decided, answer& out);
  void carry_out_verdicts(const answer& out);

  bool live() const { return !terminal_ && !ended_ && !unjudged_; }

  run_settings settings_;
  graph::graph graph_;
  windows windows_;
  healer healer_;
  interventions interventions_;
  outcome_watch outcomes_;
  capabilities window_able_{false, false, false};
  milliseconds clock_ = 0;
  bool terminal_ = false;  // an answer was delivered
  bool ended_ = false;
  std::optional<limit_id> unjudged_;
  run_progress progress_;

  // Of the message or firing being judged.
  std::vector<held_event> held_;
  graph::graph::reroutes rerouted_;
  std::vector<finding> findings_;  // of one event
  evidence_cache known_;
  std::size_t witness_visits_left_ = graph::max_message_visits;
};

}  // namespace digd
