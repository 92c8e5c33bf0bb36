// What a failure rule is: a reader of the graph that finds one of the seven shapes and knows what to say of it.
//
// Rules send nothing, keep nothing and know no clock; they are constants. What a finding leads to is healing's
// business (healing/healer.h), when a window is due the engine's (engine/windows.h).
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

namespace digd {

// A blocked event, as a rule sees it.
struct blocked_event {
  graph::event_index event = graph::nobody;
  std::vector<graph::agent_index> to;  // B: the recipients that this message gives it
  bool rerouted = false;               // else announced: an output or a root event
};

// What a rule found. Evidence is either events or agents.
struct finding {
  rule_id rule{};                            // set by the caller of `judge`
  graph::event_index event = graph::nobody;  // judged, or whose window fired; nobody: the run's own windows
  graph::agent_index agent = graph::nobody;
  event_list events;
  std::vector<graph::agent_index> agents;  // sorted by name before it is reported
};

// A healed finding, watched until its symptom has cleared.
struct watched {
  rule_id rule{};
  graph::event_ref event{};
  bool has_event = false;
  graph::agent_index agent = graph::nobody;
  std::vector<graph::event_ref> evidence;  // events only; a rule may drop those that are done with
  milliseconds detected_ts = 0;
  std::string label;           // the event's id, or that of the intervention
  std::uint64_t occasion = 0;  // the message or firing that showed it
};

// What `rule::progress` may know beside the graph.
struct run_progress {
  bool submitted = false;  // a submit event was let through
  bool clean = false;      // and no rule fired on it
};

enum class watch_state : std::uint8_t { open, cleared, recurred };

// Values for the placeholders of a text, by name.
using text_facts = std::vector<std::pair<std::string_view, std::string>>;

// The doc block of a rule, for `digctl rules` and the manual.
struct rule_doc {
  std::string_view code;  // two or three letters, as in the paper's tables
  std::string_view text;  // one sentence
  std::string_view why;
  std::string_view example;
  std::string_view false_positives;  // known ones
  std::string_view cleared;          // when the symptom counts as gone
  std::string_view source;           // in the paper
};

// The options a rule's settings have.
struct rule_options {
  bool kinds = false;
  bool window = false;
  bool attempts = false;
  bool reroutes = false;
};

class rule {
 public:
  constexpr rule(rule_id id, digd::severity severity, action healing, rule_options options, const rule_doc& doc)
      : id(id), severity(severity), healing(healing), options(options), doc(doc) {}
  virtual ~rule() = default;

  const rule_id id;
  const digd::severity severity;
  const action healing;  // inject, reroute or create
  const rule_options options;
  const rule_doc& doc;

  virtual rule_settings defaults() const = 0;

  // Judges a blocked event against the graph with its whole message recorded; appends what it finds. `known` has the
  // evidence computed for earlier events of the message. A rule stops early once `graph.work_is_used_up()`.
  virtual void judge(const graph::graph&, const blocked_event&, const rule_settings&, evidence_cache& /*known*/,
                     std::vector<finding>&) const {}

  // Rules by time: whether the condition holds now (of `event`, where windows are an event's own), and what to
  // report when it held for the window.
  virtual bool holds(const graph::graph&, graph::event_index) const { return false; }
  virtual finding fire(const graph::graph&, graph::event_index) const { return {}; }

  // Who gets the event back, or the created one; nothing where there is nobody.
  virtual void targets(const graph::graph&, const finding&, std::vector<graph::agent_index>&) const {}

  virtual std::string reason(const graph::graph&, const finding&) const = 0;
  virtual std::string_view text() const = 0;  // the healing text, with {placeholders}
  virtual text_facts facts(const graph::graph&, const finding&) const = 0;
  virtual graph::witness_names witness(const graph::graph&, const finding&) const = 0;
  virtual watch_state progress(const graph::graph&, watched&, const run_progress&) const = 0;
};

// The catalog, in the order of rule_id.
std::span<const rule* const> catalog();
inline const rule& rule_of(rule_id id) { return *catalog()[index_of(id)]; }
// Settings with the catalog's defaults for each rule.
run_settings default_settings();

#define DIGD_RULE(name) const rule& name##_rule();
#include "model/rule_catalog.inc"
#undef DIGD_RULE

}  // namespace digd
