// Selects the part of a run that a picture shows, and describes what it omits.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "report/picture/model.h"

namespace digd::picture {

struct filter {
  std::vector<std::string> agents;  // any of these; empty: all
  std::string around;               // an event: shows it, its source and consumers, and their inputs and outputs
  std::optional<milliseconds> from, to;
  std::optional<rule_id> rule;  // likewise around the findings of this rule
  bool fyi = true;
  std::size_t limit = 400;  // activations and events; over it: the part with the first findings
};

struct selection {
  std::vector<index> rows;               // in order
  std::vector<index> lanes;              // those that these rows concern, in order
  std::vector<bool> has_lane;            // by lane
  std::vector<bool> has_row;             // by row
  std::vector<index> findings;           // to be shown, in order
  std::size_t nodes = 0, all_nodes = 0;  // activations and events
  std::vector<std::string> notes;        // the omitted parts, and how to see them

  // The findings of a row that are shown.
  std::vector<index> detections_of(const row& r) const;
};

// A filter that names what is not in the run gives an empty selection and a note.
selection select(const model& from, const filter& filter);

// The lanes of at most `most` agents that acted or can receive: those with the most to show in these rows. In the order
// of the model.
std::vector<index> busiest_lanes(const model& from, const selection& part, std::size_t most);
// The shortest pause between two of these rows that gets a label: far longer than usual.
milliseconds notable_pause(const model& from, const selection& part);
// The row where the activation's bar ends: the last shown output or reroute of its end; without one, the end itself, or
// the start if no shown row lies between. `none` while it is open.
index closing_row(const model& from, const selection& part, const activation& a);

}  // namespace digd::picture
