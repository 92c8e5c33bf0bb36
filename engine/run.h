// One run: its graph, its rules at work, its healing. The whole path of a message is `run::apply`.
//
// The same calls serve a live socket, a trace file, a recovered archive and a simulation: time and messages are
// handed in, answers handed out, so that a replay is exact. No I/O, no clock, no threads: a run belongs to its
// engine thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "engine/windows.h"
#include "graph/graph.h"
#include "healing/healer.h"
#include "healing/watch.h"
#include "model/answer.h"
#include "model/message.h"
#include "model/settings.h"
#include "rules/rule.h"

namespace digd {

inline constexpr std::string_view run_closed_words = "the run has ended; begin a new one under another id";

// Who says a message.
struct speaker {
  std::string_view session = "main";
  capabilities able;
};

// The event that a delivery report is about: the one it names, or that of the intervention it answers.
std::string_view reported_event(const message& m);

class run {
 public:
  // `first`: the hello that opens the run; its agents, if given, close the roster.
  run(const run_settings& settings, const hello& first);
  run(const run&) = delete;
  run& operator=(const run&) = delete;

  // A new session's hello, the first one's too: its agents join.
  void join(const hello& session);
  // What at least one session can do; it decides whether a window can be healed.
  void set_able(const capabilities& any) { window_able_ = any; }

  // Takes one message in. `stamp` is its time with the wall clock; with the trace clock its own `ts` counts.
  // A refused message changes nothing. `out` is cleared first.
  void apply(const message& m, const speaker& who, milliseconds stamp, answer& out);

  // Time passes without a message: what is due by `now` happens. `out` is cleared first.
  void advance(milliseconds now, answer& out);

  // A limit is hit, and its policy is not to refuse: from `stamp` on the run is judged no more, or it forgets what is
  // pending as with a `gap`. What that brings about is added to `out`.
  void degrade(limit_id hit, limit_policy policy, milliseconds stamp, answer& out);
  // Whether that would change anything.
  bool can_degrade(limit_id hit, limit_policy policy) const;
  // What made it judge no more; none: it is judged.
  std::optional<limit_id> unjudged() const { return unjudged_; }

  // From `stamp` on the run is judged by the current semantics: what the older one left pending is forgotten, as with a
  // `gap`.
  void adopt_semantics(milliseconds stamp, answer& out);

  // The operator's switch for all rules of the run, from `stamp` on (the run's own time with the trace clock).
  void switch_mode(mode strongest, milliseconds stamp, answer& out);

  // When something is next due; none if nothing is.
  std::optional<milliseconds> next_due() const;

  // Whether `m` names an event or activation that this run has not seen.
  bool names_unseen(const message& m) const;

  milliseconds clock() const { return clock_; }
  bool terminal() const { return terminal_; }
  bool ended() const { return ended_; }
  const run_settings& settings() const { return settings_; }
  const graph::graph& graph() const { return graph_; }
  const healer& healing() const { return healer_; }
  std::uint64_t system_events() const { return system_events_; }

 private:
  // A blocked event of the message in hand.
  struct held_event {
    blocked_event blocked;
    bool judged = true;                          // false: late
    bool skipped = false;                        // `limits.judging_work` was used up
    graph::agent_index back_to = graph::nobody;  // healed by giving it back
    void take(const remedy& with, action action, verdict& v, const graph::graph& g);
  };

  refusal_note check(const message& m) const;  // engine/check.cpp
  void pass(const message& m, milliseconds time, answer& out);
  void stop_judging(limit_id why, answer& out);
  void forget_pending(answer& out);
  milliseconds time_of_daemon(milliseconds stamp) const;
  void let_due_happen(milliseconds now, answer& out);
  void happen(const due_item& due, answer& out);
  void fire(const rule& which, const due_item& due, answer& out);
  finding find_due(const rule& which, const due_item& due) const;
  void report_at_end(answer& out);

  void record(const message& m);
  void record_end(const message& m);
  void record_outputs(const message& m, graph::activation_index source);
  void record_delivery_report(const message& m);

  void judge(const message& m, const speaker& who, answer& out);
  void judge_event(held_event& held, verdict& v, const message& m, const speaker& who, answer& out);
  bool find(const held_event& held);
  void apply_verdicts(const answer& out);
  void let_through(bool clean);

  std::uint32_t report(const rule& which, finding& finding, const remedy& with, answer& out);
  milliseconds time_of(const message& m, milliseconds stamp) const;
  bool live() const { return !terminal_ && !ended_ && !unjudged_; }

  run_settings settings_;
  graph::graph graph_;
  windows windows_;
  healer healer_;
  watch_list watches_;
  capabilities window_able_{false, false, false};
  milliseconds clock_ = 0;
  bool terminal_ = false;
  bool ended_ = false;
  std::optional<limit_id> unjudged_;
  run_progress progress_;
  std::uint64_t system_events_ = 0;

  std::vector<held_event> held_;  // of the message in hand
  graph::graph::reroutes rerouted_;
  std::vector<finding> found_;                                   // of the event in hand
  evidence_cache known_;                                         // of the message in hand
  std::size_t witness_visits_left_ = graph::max_message_visits;  // of the message or firing in hand
};

}  // namespace digd
