// One run: its graph, the rules, healing, and time. `run::apply` is the path of a message.
//
// A live socket, a trace file, a recovered archive and a simulation make the same calls. The caller gives messages and
// times and gets answers, so that a replay is exact. No I/O, no clock, no threads: a run belongs to its engine thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "engine/silences.h"
#include "engine/windows.h"
#include "graph/graph.h"
#include "graph/witness.h"
#include "healing/healer.h"
#include "healing/holds.h"
#include "healing/outcomes.h"
#include "healing/verdicts.h"
#include "model/answer.h"
#include "model/message.h"
#include "model/settings.h"
#include "rules/guards/guard_view.h"
#include "rules/guards/repeats.h"
#include "rules/guards/spending.h"
#include "rules/rule.h"

namespace digd {

inline constexpr std::string_view run_closed_words = "the run has ended; begin a new one under another id";

// The session that a message comes from.
struct speaker {
  std::string_view session = "main";
  capabilities able;
  std::uint32_t index = 0;  // the session's index, by which interventions name it
};

// A person's decision on a hold.
struct hold_decision {
  std::uint64_t hold = 0;
  hold_end decision = hold_end::release;
  std::string text;
  std::string by;
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
  // The capabilities that at least one session has. They decide what digd can do when a window or a silence fires.
  void set_able(const capabilities& any) { window_able_ = any; }

  // Applies one message. Its time is `stamp` with the wall clock, and its own `ts` with the trace clock. A refused
  // message changes nothing. But with the wall clock, and in a stamped trace, what was due before the message is
  // applied before the message is checked. `out` is cleared first.
  void apply(const message& m, const speaker& from, milliseconds stamp, answer& out);

  // Time passes without a message: applies what is due by `now`. `out` is cleared first.
  void advance(milliseconds now, answer& out);

  // Applies the policy of a limit that the run hit, unless it is `refuse`: from `stamp` on, judging stops, or the run
  // forgets what is pending, as with a `gap`. Adds the consequences to `out`.
  void degrade(limit_id hit, limit_policy policy, milliseconds stamp, answer& out);
  // Whether `degrade` would change anything.
  bool can_degrade(limit_id hit, limit_policy policy) const;
  // Begins to judge again, from `stamp` on. As after a gap, ids from before are unknown: the graph has only the agents.
  void resume_judging(milliseconds stamp);
  // Whether judging has stopped and can resume. It cannot resume if the run had more agents than it remembers.
  bool can_resume() const { return unjudged_ && !ended_ && !terminal_ && knows_agents_; }
  // The limit that stopped judging; none: the run is judged.
  std::optional<limit_id> unjudged() const { return unjudged_; }

  // Continues a run of an older version under the current semantics, from `stamp` on. Forgets what is pending, as with
  // a `gap`.
  void adopt_semantics(milliseconds stamp, answer& out);

  // Applies what is due by `when`, then a person's decision on a hold. Refuses the decision with hold_closed if that
  // hold is no longer open.
  void decide(const hold_decision& decision, milliseconds when, answer& out);

  // The operator's switch for all rules of the run, from `stamp` on (with the trace clock: from the run's own time).
  void switch_mode(mode strongest, milliseconds stamp, answer& out);

  // The time of the next window, stall, silence or end of a hold; none if nothing is due.
  std::optional<milliseconds> next_due() const;

  struct named_id {
    std::string_view id;
    bool is_event = false;  // or an activation
  };
  // The first event or activation that `m` names and this run has not seen.
  std::optional<named_id> first_unseen(const message& m) const;
  bool is_unseen(const named_id& id) const;

  milliseconds clock() const { return clock_; }
  bool terminal() const { return terminal_; }
  bool ended() const { return ended_; }
  const run_settings& settings() const { return settings_; }
  const graph::graph& graph() const { return graph_; }
  const healer& healing() const { return healer_; }
  bool counts_repeats() const { return repeats_guard_ != nullptr; }  // so messages need fingerprints
  const digd::spending& spent() const { return spending_; }
  const digd::holds& open_holds() const { return holds_; }
  std::uint64_t system_events() const { return interventions_.created(); }
  // All detections so far, and those of them that were healed.
  std::uint64_t detections() const { return detections_; }
  std::uint64_t healed() const { return healed_; }

 private:
  refusal_note check(const message& m) const;  // engine/check.cpp
  bool answers_guard(const message& m) const;
  void pass_through(const message& m, milliseconds time, answer& out);
  void stop_judging(limit_id cause, answer& out);
  void empty_graph();
  void follow_agents(const message& m);
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
  void record(const message& m, const speaker& from);
  void record_end(const message& m);
  void record_outputs(const message& m, graph::activation_index source);
  void record_delivery_report(const message& m);
  graph::event_index reported(const message& m) const;  // engine/check.cpp; nobody: none, or forgotten
  void let_through(bool clean);

  // engine/guarding.cpp
  void note_spending(const message& m, graph::activation_index named);
  graph::activation_index named_activation(const message& m) const;
  void begin_guarding(const message& m);
  void guard_next(std::size_t held);
  bool ask_guards(const held_event& held);
  void note_limits(const finding& found);
  void carry_out_guard(const finding& found, const remedy& decided, held_event& held, verdict& v,
                       std::uint32_t detection, answer& out);
  void judge_spending(const message& m, const speaker& from, answer& out);
  void cancel(const finding& found, const remedy& decided, std::uint32_t detection, answer& out);
  void fire_silence(answer& out);
  void update_silences();

  // engine/hold_ends.cpp
  void open_hold_on(const held_event& held, const verdict& v, const answer& out, std::uint32_t session);
  void end_hold(std::uint64_t number, hold_end decision, std::string text, answer& out);
  void end_taken_holds(const message* m, answer& out);
  bool is_taken(const open_hold& hold, graph::activation_index started) const;

  // engine/judging.cpp
  void judge(const message& m, const speaker& from, answer& out);
  void judge_event(held_event& held, verdict& v, const message& m, const speaker& from, answer& out);
  bool ask_rules(const blocked_event& blocked);
  std::uint32_t report(const finding& found, const remedy& decided, answer& out);
  void carry_out_verdicts(const answer& out, const speaker& from);

  // The next item that is due, other than a window.
  struct other_due {
    milliseconds at = 0;
    bool is_hold = false;  // else a silence
  };
  std::optional<other_due> next_other() const;
  void apply_other(const other_due& due, answer& out);
  void update_windows();

  bool live() const { return !terminal_ && !ended_ && !unjudged_; }

  run_settings settings_;
  graph::graph graph_;
  windows windows_;
  healer healer_;
  interventions interventions_;
  outcome_watch outcomes_;
  capabilities window_able_ = capabilities::none();
  milliseconds clock_ = 0;
  bool terminal_ = false;  // an answer was delivered
  bool ended_ = false;
  std::uint64_t detections_ = 0, healed_ = 0;
  std::optional<limit_id> unjudged_;
  bool knows_agents_ = true;  // while unjudged
  run_progress progress_;

  // ---- guards
  const bool guards_on_;
  // The guards for which the run counts; null while they are off.
  const rule* const spending_guard_;
  const rule* const repeats_guard_;
  const rule* const silence_guard_;
  const bool judges_fyi_;
  spending spending_;
  repeats repeats_;
  silences silences_;
  holds holds_;
  bool were_silences_off_ = false;  // the last `update_silences` found the guard off or judging stopped
  guard_view view_;
  std::vector<std::uint64_t> released_holds_;  // the holds that the message's delivery report releases

  // State of the message or firing being judged.
  std::vector<held_event> held_;
  std::vector<graph::agent_index> spare_recipients_;  // memory for those of the next event
  std::vector<graph::event_index> outputs_;
  graph::graph::reroutes rerouted_;
  std::vector<finding> findings_;  // of one event
  evidence_cache known_;
  std::size_t witness_visits_left_ = graph::max_message_visits;
};

}  // namespace digd
