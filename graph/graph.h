// The Dynamic Interaction Graph of one run, kept up to date message by message (DIG to Heal, section 4;
// semantics.md, "Recording").
//
// Does no I/O and reads no clock: the caller gives the time. Thread: its run's engine thread. The caller checks input
// (engine/check.cpp); the graph asserts its own invariants. Memory: live events and activations, plus the latest
// `settled_events` settled events and the ended activations that these name.
//
// The cost of an operation grows with what it names (inputs, outputs, recipients) and with the unsettled ancestors of
// its inputs, never with the length of the run.
#pragma once

#include <boost/container/deque.hpp>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "graph/id_index.h"
#include "graph/node_store.h"
#include "graph/nodes.h"
#include "model/message.h"

namespace digd::graph {

struct graph_limits {
  std::size_t settled_events = 100'000;  // that the graph remembers
  std::size_t generators = 4096;         // of one event
};

struct graph_counters {
  std::uint64_t events = 0;       // recorded since the run began
  std::uint64_t activations = 0;  // started since the run began
  std::uint64_t forgotten_events = 0;
  std::uint64_t generator_overflows = 0;  // events left out of cross-lineage aggregation
  std::uint64_t visited = 0;              // list elements that the graph and the rules visited: the cost of judging
};

class graph {
 public:
  explicit graph(graph_limits limits) : limits_(limits) {}
  graph(const graph&) = delete;
  graph& operator=(const graph&) = delete;

  // ---- reading
  event_index find_event(std::string_view id) const;            // nobody: never seen or forgotten
  activation_index find_activation(std::string_view id) const;  // likewise
  agent_index find_agent(std::string_view name) const;          // nobody: never named
  const event_node& event(event_index i) const { return events_[i]; }
  const activation_node& activation(activation_index i) const { return activations_[i]; }
  const agent_node& agent(agent_index i) const { return agents_[i]; }
  std::size_t agent_count() const { return agents_.size(); }
  const std::vector<event_index>& reachable() const { return reachable_; }  // the reachable work, in no order
  std::vector<agent_index> roster() const;                                  // sorted by name
  std::size_t roster_size() const { return roster_size_; }
  // The first agents of the roster by name. A view, valid until the roster changes.
  static constexpr std::size_t roster_front_size = 8;
  std::span<const agent_index> roster_front() const;
  std::size_t active_count() const { return active_count_; }
  std::size_t open_count() const { return open_count_; }
  std::size_t live_events() const { return live_events_; }  // not settled
  std::size_t remembered_events() const { return event_ids_.size(); }
  bool ended_since_gap() const { return ended_since_gap_; }
  agent_index last_ended_agent() const { return last_ended_agent_; }
  activation_index last_ended() const;                               // nobody: none, or forgotten
  activation_index longest_silent() const { return first_active_; }  // active, with the least `heard_ms`; or nobody
  bool has_pending() const;                                          // of any event
  const delivery* find_delivery(event_index e, agent_index a) const;
  bool is_pending(event_index e, agent_index a) const;
  // The work that the outputs of `v` are derived from and that other reducing activations, which ended and did not
  // fail, have consumed. Computed once for all outputs of a message. A view, valid until the graph changes.
  std::span<const event_index> reduced_by_others(activation_index v) const;
  // The event; null if the run has forgotten it and no open activation has it as an input.
  const event_node* resolve(event_ref ref) const;
  event_ref ref(event_index e) const { return {e, events_[e].generation}; }
  // Marks the unsettled ancestors of `e`. `is_marked` refers to the last call.
  void mark_ancestors(event_index e) const;
  bool is_marked(event_index e) const { return events_[e].marked_in == epoch_; }
  const graph_counters& counters() const { return counters_; }
  void count_visited(std::size_t elements) const { counters_.visited += elements; }
  // Begins a new allowance of `max_elements` visits (`count_visited`) for judging one message.
  void begin_work(std::uint64_t max_elements) { work_ends_ = counters_.visited + max_elements; }
  bool work_is_used_up() const { return counters_.visited >= work_ends_; }
  // All remembered events and activations, in the order recorded. For tests.
  std::vector<event_index> all_events() const;
  std::vector<activation_index> all_activations() const;

  // ---- agents
  agent_index intern(std::string_view name);
  void close_roster() { roster_closed_ = true; }
  bool roster_closed() const { return roster_closed_; }
  void join(agent_index a);
  void leave(agent_index a);

  // ---- recording
  activation_index start(std::string_view id, std::string_view agent, const name_list& inputs, milliseconds now,
                         std::uint32_t session = 0);
  // Applies the reactions and ends the activation. Appends the rerouted events with their drafts, in the order of the
  // inputs; the caller then calls `reroute` for each.
  using reroutes = std::vector<std::pair<event_index, const reaction_draft*>>;
  void end(activation_index v, const message& message, reroutes& rerouted);
  // Delivers a rerouted event to its targets, which counts as one reroute act. Fills `to` with them and, if it is
  // given, `newly_pending` with those that had no pending delivery of it.
  void reroute(event_index e, const name_list& targets, std::vector<agent_index>& to,
               std::vector<agent_index>* newly_pending = nullptr);
  // Records an announced event, or completes its placeholder, and delivers it to its recipients. Fills `to` with them.
  event_index record(const event_draft& draft, activation_index source, milliseconds now, std::vector<agent_index>& to);
  // Sets the generators of outputs. Call it after all outputs of their message are recorded.
  void fix_generators(activation_index source, std::span<const event_index> outputs);
  // Counts an ended activation among the reducing consumers of its inputs. Call it after its outputs are recorded.
  void count_consumer(activation_index v);
  event_index record_system_event(std::string_view id, std::span<const agent_index> to);
  void gap();
  void stall(activation_index v);

  // ---- healing
  void give_up_submit(event_index e);  // turns an answer into work; withdraws its pending deliveries
  // Delivers the event to `to`. `undo_give_back` withdraws this delivery unless `was_recipient`.
  void give_back(event_index e, agent_index to, bool was_recipient = false);
  void undo_give_back(event_index e);  // withdraws the delivery of `give_back` if it is still pending
  // A guard withdraws the pending deliveries to these agents. `undo_interception` gives the event to them again.
  void intercept(event_index e, std::span<const agent_index> from);
  void undo_interception(event_index e);
  void set_to_nobody(event_index e);
  void count_attempt(event_index e) { ++events_[e].attempts; }
  std::uint64_t count_window_give_back(event_index e) { return ++events_[e].given_back; }

  // ---- the end of a message
  // Events whose windows or settled state may have changed since the last `settle`.
  const std::vector<event_index>& touched() const { return touched_; }
  // Fills `to` with the touched events that may have changed since the last call or the last `settle`.
  void take_changed(std::vector<event_index>& to);
  void touch(event_index e);
  void set_window(event_index e, window_state state);
  // Settles the touched events that nothing can change any more.
  void settle();
  // Forgets the settled events beyond the limit, oldest first, and the activations that only they kept.
  void forget();

 private:
  bool repeats_work(const activation_node& v) const;
  event_index new_event(std::string_view id);
  activation_index new_activation(std::string_view id);
  event_index input_event(std::string_view id, agent_index for_agent);
  void name_recipients(const name_list& names, std::vector<agent_index>& to);
  void give(event_index e, agent_index a);
  void give_all(event_index e, std::span<const agent_index> to);
  const delivery* find_delivery(event_index e, agent_index a, std::size_t among) const;  // in the first `among`
  void take(event_index e, agent_index a, delivery_state fate);
  void close_delivery(event_index e, delivery& d, delivery_state fate);
  void update_reachable(event_index e);
  void add_output(activation_index v, event_index e, milliseconds now);
  void fix_used_inputs(activation_index v);
  void activate(activation_index v, milliseconds now);
  void unlink_active(activation_index v);
  void forget(event_index e);
  void release(activation_index v);
  void forget_if_unneeded(activation_index v);
  void free_event(event_index e);
  void set_kind(event_node& node, std::string_view kind);
  void drop_kind(event_node& node);
  void drop_settled_ancestry(event_node& node) const;
  void begin_marking() const;
  bool mark(event_index e) const;  // false: already marked

  graph_limits limits_;
  mutable graph_counters counters_;
  std::uint64_t work_ends_ = std::numeric_limits<std::uint64_t>::max();
  node_store<event_node> events_;
  node_store<activation_node> activations_;
  node_store<agent_node> agents_;
  std::vector<event_index> free_events_;
  std::vector<activation_index> free_activations_;
  id_index<node_store<event_node>> event_ids_{events_};
  id_index<node_store<activation_node>> activation_ids_{activations_};
  id_index<node_store<agent_node>, 1> agent_names_{agents_};
  std::map<std::string, std::uint32_t, std::less<>> kinds_;  // of remembered events, with their count

  std::vector<event_index> reachable_;
  boost::container::deque<event_index> settled_;  // remembered, oldest first
  std::vector<event_index> touched_;
  std::vector<event_index> changed_;     // a part of `touched_`
  std::vector<activation_index> ended_;  // in this message
  activation_index first_active_ = nobody;
  activation_index last_active_ = nobody;
  std::size_t active_count_ = 0;
  std::size_t open_count_ = 0;
  std::size_t live_events_ = 0;
  std::size_t roster_size_ = 0;
  mutable std::vector<agent_index> roster_front_;  // empty: not computed since the roster changed
  bool roster_closed_ = false;
  bool ended_since_gap_ = false;
  agent_index last_ended_agent_ = nobody;
  activation_index last_ended_ = nobody;
  std::uint64_t last_ended_ordinal_ = 0;
  std::uint64_t next_ordinal_ = 1;

  struct reduced_work {
    activation_index of = nobody;  // nobody: not computed yet
    std::vector<event_index> events;
  };
  mutable reduced_work reduced_;

  mutable std::uint64_t markings_ = 1;
  mutable std::uint32_t epoch_ = 1;  // the current marking, as events store it (32 bits)
};

}  // namespace digd::graph
