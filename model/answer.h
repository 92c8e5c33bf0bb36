// The answer to a message or to the passing of time: refusals, verdicts, interventions, detections, outcomes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/error.h"
#include "model/guard.h"
#include "model/message.h"
#include "model/rule_id.h"

namespace digd {

// `deliver`: unchanged. `inject`: with a text added. `reroute`: to other recipients, with a text. `create`: the monitor
// creates an event. `hold`: it waits for a person. `release`: a hold ends, and the event is delivered. `cancel`: open
// activations should end.
enum class action : std::uint8_t { none, deliver, inject, reroute, create, hold, release, cancel };

// Why a detection was not healed: the first cause that applies, in this order.
enum class cause : std::uint8_t { none, mode, as_is, superseded, unsupported, target, attempts, budget, ended };
inline constexpr std::size_t cause_count = static_cast<std::size_t>(cause::ended) + 1;

enum class severity : std::uint8_t { warning, failure };

// Whether a healed symptom cleared, came back, or remained until the run ended.
enum class outcome_kind : std::uint8_t { cleared, recurred, unresolved };

std::string_view to_string(action);
std::string_view to_string(cause);
std::string_view to_string(severity);
std::string_view to_string(outcome_kind);

// The part of the graph that a rule's sentence is about (graph/witness.h); at most 64 nodes.
struct witness {
  struct node {
    std::string id;
    std::string agent;  // of the activation, or of the event's source; empty if none
  };
  enum class edge_kind : std::uint8_t { generated, delivered, pending };
  struct edge {
    edge_kind kind;
    std::string from;                 // generated: activation; else event
    std::string to;                   // generated: event; delivered: activation; pending: agent
    reaction label = reaction::none;  // delivered: the activation's reaction; none while it is open
  };
  std::vector<node> activations;
  std::vector<node> events;
  std::vector<edge> edges;
  bool truncated = false;
};

struct detection {
  static constexpr std::size_t max_evidence = 64;
  static constexpr std::size_t max_evidence_bytes = 4096;  // the sum over all ids

  rule_id rule{};
  digd::severity severity{};
  std::optional<std::string> session;  // the session of the message that showed it; none for a window
  std::optional<std::uint64_t> at;     // that message's seq; none for a window
  milliseconds ts = 0;
  std::optional<std::string> event;
  std::optional<std::string> agent;
  std::vector<std::string> evidence;  // sorted bytewise; as many as fit both limits
  std::size_t evidence_total = 0;     // before the limits
  bool healed = false;
  action healing = action::none;  // what was done; in shadow mode, what would have been done
  digd::cause cause = cause::none;
  std::optional<guard_action> guard;     // of a guard: the action of this firing
  std::vector<std::string_view> limits;  // of a guard: the limits that were passed, or reached
  std::string reason;                    // one sentence
  digd::witness witness;
};

struct verdict {
  std::string event;
  digd::action action = action::deliver;
  std::vector<std::string> recipients;    // of a reroute; none: nobody gets it
  std::string inject;                     // empty: no text
  std::vector<std::uint32_t> detections;  // indices into answer::detections
  std::uint64_t hold = 0;                 // of a hold: its number
  milliseconds hold_ms = 0;
  hold_end on_timeout = hold_end::release;
};

struct intervention {
  std::string id;                        // sys:N, give:EVENT:N, hold:N or cancel:N
  digd::action action = action::create;  // create, reroute, release or cancel
  std::optional<std::string> event;      // the event that is rerouted or released
  std::vector<std::string> recipients;   // sorted bytewise
  std::string inject;
  std::vector<std::uint32_t> detections;
  std::vector<std::string> activations;  // of cancel: sorted bytewise
  // The sessions that get it, by speaker::index. End of a hold: the session that announced the event. Cancel: the
  // session of each entry of `activations`, in the same order. Empty: the sessions that named one of the recipients.
  std::vector<std::uint32_t> sessions;
  std::uint64_t hold = 0;  // the number of the hold that it ends; 0: it ends none
};

// The outcome of a healing. A rule's documentation defines when its symptom has cleared.
struct outcome_report {
  rule_id rule{};
  milliseconds ts = 0;
  std::optional<std::string> event;  // the detection's event, or the intervention's id for a window of the run
  milliseconds detected_ts = 0;
  outcome_kind outcome = outcome_kind::cleared;
};

struct answer {
  refusal_note refused;
  std::vector<intervention> interventions;  // in order; they take effect before the verdicts
  std::vector<verdict> verdicts;            // one for each blocked event, in the order judged
  std::vector<detection> detections;        // in order, healed or not
  std::vector<outcome_report> outcomes;
  std::vector<std::string> unjudged;  // blocked events that `limits.judging_work` left unjudged, in order

  void clear();
};

}  // namespace digd
