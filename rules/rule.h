// The interface of a failure rule. A rule reads the graph, finds one failure pattern, and describes it.
//
// Rules are constants: they send nothing, keep no state and read no clock. healing/healer.h decides how a finding is
// healed; engine/windows.h decides when a window fires. docs/adding-a-rule.md walks through a new rule.
//
// Thread: any for rules and the catalog; a call that gets a graph belongs on the graph's thread. Lifetime: rules live
// as long as the process.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "graph/graph.h"
#include "graph/witness.h"
#include "model/answer.h"
#include "model/rule_id.h"
#include "model/settings.h"
#include "rules/evidence.h"
#include "rules/guard_option.h"

namespace digd {

struct guard_view;  // rules/guards/guard_view.h

// A blocked event that is to be judged.
struct blocked_event {
  graph::event_index event = graph::nobody;
  std::vector<graph::agent_index> to;  // the recipients that this message gives it (B in semantics.md)
  bool rerouted = false;               // false: announced, as an output or a root event
  const guard_view* guards = nullptr;  // the facts that guards read besides the graph; null for the rules
};

// What a rule or guard found. Its evidence is either events, agents, or ids of events that the run may have forgotten.
struct finding {
  rule_id rule{};                            // set by the caller of `judge` or `find_silence`
  graph::event_index event = graph::nobody;  // the event judged, or whose window fired; nobody: a window of the run
  graph::agent_index agent = graph::nobody;
  event_list events;
  std::vector<graph::agent_index> agents;  // sorted by name before it is reported

  // ---- of guards
  std::vector<std::string> ids;          // sorted bytewise
  std::vector<std::string_view> limits;  // passed or, in a warning, reached
  bool warning = false;
  guard_action action = guard_action::observe;  // of this firing; set by the caller, as `rule`
  bool to_nobody = false;                       // no agent gets the returned event, or no activation is open to cancel
  graph::agent_index sender = graph::nobody;    // the agent whose message it is
  graph::activation_index activation = graph::nobody;  // of a stall
  std::string measured;                                // what was counted, for sentences
};

// A healed finding, watched until its symptom clears, recurs, or the run ends.
struct watched {
  rule_id rule{};
  graph::event_ref event{};
  bool has_event = false;
  graph::agent_index agent = graph::nobody;
  std::vector<graph::event_ref> evidence;  // events only; `progress` may drop those that are resolved
  milliseconds detected_ts = 0;
  graph::activation_index activation = graph::nobody;  // of a stall
  std::uint64_t activation_ordinal = 0;
  std::string label;           // the event's id, or that of the intervention
  std::uint64_t occasion = 0;  // number of the message or firing that it was found in
};

// The facts that `rule::progress` may read besides the graph.
struct run_progress {
  bool submitted = false;  // an answer was delivered
  bool clean = false;      // and no rule fired on it
};

enum class watch_state : std::uint8_t { open, cleared, recurred };

// The values of a text's placeholders, by name.
using text_facts = std::vector<std::pair<std::string_view, std::string>>;

// The documentation of a rule, for `digctl rules`, the manual and generated lists.
struct rule_doc {
  std::string_view code;     // two or three letters, as in the paper's tables
  std::string_view summary;  // one sentence: what happened
  std::string_view problem;  // why it matters
  std::string_view example;
  std::string_view false_positives;  // known ones
  std::string_view cleared;          // when the symptom counts as cleared
  std::string_view advice;           // what to change in the agent system
  std::string_view source;           // in the paper
};

// Whether a rule keeps something for the run as a whole, or for each event.
enum class scope : std::uint8_t { none, run, event };

// Which later finding of the same rule shows that an earlier healing did not help.
enum class recurrence : std::uint8_t {
  anywhere,         // any later finding in the run
  same_place,       // a later finding of the same event and agent; any later finding if it has no event
  shared_evidence,  // a later finding whose evidence has an event in common
  same_agent,       // a later finding of the same agent
};

// Where a detection takes place, for reports that group detections: between the source of its event and these agents.
enum class place_kind : std::uint8_t {
  answer,    // nobody: the event is an answer
  evidence,  // the agents in the evidence
  delivery,  // the detection's agent, else the recipients that the witness shows as pending
};

// The count that the engine keeps for a guard. At most one guard reads each.
enum class guard_count_kind : std::uint8_t { none, spending, repeats, silence };

// The properties of a rule besides its judgement. All other code depends on these, never on a rule's name.
struct rule_traits {
  bool kinds = false;            // has the option `kinds`
  scope window = scope::none;    // judges by time: has `window_ms`; at most one rule has `event`
  scope attempts = scope::none;  // has `max_attempts`, counted for the run or for each event; at most one has `event`
  bool reroutes = false;         // has the option `max_reroutes`
  bool repeated = false;         // has the option `skip_repeated`
  bool returns = false;          // its healing makes one agent act again: `max_returns_per_agent` bounds it
  recurrence recurs = recurrence::same_place;
  place_kind place = place_kind::delivery;

  // ---- of guards
  guard_count_kind counts = guard_count_kind::none;
  bool judges_fyi = false;           // judges `fyi` events too
  bool judges_activations = false;   // instead of events: it can only observe or cancel
  bool drops_after_returns = false;  // beyond `max_returns_per_agent` nobody gets the event

  constexpr bool has_window() const { return window != scope::none; }
  constexpr bool has_attempts() const { return attempts != scope::none; }
};

class rule {
 public:
  constexpr rule(rule_id id, digd::severity severity, action healing, rule_traits traits, const rule_doc& doc)
      : id(id), severity(severity), healing(healing), traits(traits), doc(doc) {}
  virtual ~rule() = default;

  const rule_id id;
  const digd::severity severity;
  const action healing;  // inject, reroute or create; none: a guard, whose option `action` decides
  const rule_traits traits;
  const rule_doc& doc;

  virtual rule_settings defaults() const = 0;

  // ---- of guards
  // The guard's own options, in the order in which the welcome and the configuration list them.
  virtual std::span<const guard_option> options() const { return {}; }
  // Whether these settings set one of the guard's limits.
  virtual bool is_on(const guard_settings&) const { return false; }
  // Whether the guard's option `action` may name this action.
  constexpr bool allows(guard_action a) const {
    return !traits.judges_activations || a == guard_action::observe || a == guard_action::cancel;
  }

  // ---- judging

  // Judges a blocked event and appends findings. The graph already has the event's whole message. `known` holds the
  // evidence computed for earlier events of the message. A rule returns early once `graph.work_is_used_up()`.
  virtual void judge(const graph::graph&, const blocked_event&, const rule_settings&, evidence_cache& /*known*/,
                     std::vector<finding>&) const {}

  // For rules with windows: whether the condition holds now, and the finding once it has held for the window. The
  // event is given if windows belong to events.
  virtual bool holds(const graph::graph&, graph::event_index) const { return false; }
  virtual finding fire(const graph::graph&, graph::event_index) const { return {}; }

  // For the guard that counts silences: the finding on an open activation that has been silent for so long.
  virtual finding find_silence(const graph::graph&, graph::activation_index, std::uint64_t /*silent_ms*/) const {
    return {};
  }

  // Appends the agents that get the event back, or the created event; none if there is no such agent.
  virtual void targets(const graph::graph&, const finding&, std::vector<graph::agent_index>&) const {}

  virtual std::string reason(const graph::graph&, const finding&) const = 0;
  virtual std::string_view text() const = 0;  // the healing text, with {placeholders}
  virtual text_facts facts(const graph::graph&, const finding&) const = 0;
  virtual graph::witness_names witness(const graph::graph&, const finding&) const = 0;
  virtual watch_state progress(const graph::graph&, watched&, const run_progress&) const = 0;
};

// The rules and then the guards, in the order of rule_id. The first call throws std::logic_error if there is a
// `catalog_problem`.
std::span<const rule* const> catalog();
// Why the engine cannot judge by all of these rules; empty if it can.
std::string catalog_problem(std::span<const rule* const> rules);
inline std::span<const rule* const> failure_rules() { return catalog().first(failure_rule_count); }
inline std::span<const rule* const> guards() { return catalog().subspan(failure_rule_count); }
inline const rule& rule_of(rule_id id) { return *catalog()[index_of(id)]; }
bool is_any_guard_on(const guard_settings&);
// The guard that reads this count; null if these settings do not turn it on.
const rule* guard_reading(guard_count_kind, const guard_settings&);
// Settings with the catalog's defaults for each rule.
run_settings default_settings();

#define DIGD_RULE(name) const rule& name##_rule();
#include "model/rule_catalog.inc"
#include "model/rule_catalog_guards.inc"
#undef DIGD_RULE

}  // namespace digd
