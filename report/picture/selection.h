// Which part of a run a picture shows, and what it says of the rest.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "report/picture/model.h"

namespace digd::picture {

struct filter {
  std::vector<std::string> agents;  // any of these; empty: all
  std::string around;               // an event: it, who made and took it, and what these made and took
  std::optional<milliseconds> from, to;
  std::optional<rule_id> rule;  // the same around what this rule found
  bool fyi = true;
  std::size_t limit = 400;  // activations and events; over it: the part with the first findings
};

struct selection {
  std::vector<index> rows;               // in order
  std::vector<index> lanes;              // those that something in these rows is about, in order
  std::vector<bool> has_lane;            // by lane
  std::vector<bool> has_row;             // by row
  std::vector<index> findings;           // to be told, in order
  std::size_t nodes = 0, all_nodes = 0;  // activations and events
  std::vector<std::string> notes;        // what is left out, and how to see it

  // Those of a row's findings that are to be told.
  std::vector<index> told(const row& r) const;
};

// A filter that names what is not in the run gives an empty selection and a note.
selection select(const model& from, const filter& filter);

// At most so many of the agents of these rows that can receive or acted: those with most to tell, in order.
std::vector<index> busiest_lanes(const model& from, const selection& part, std::size_t most);
// A pause between two of these rows is worth a word from here on: far longer than usual.
milliseconds notable_pause(const model& from, const selection& part);
// Where the activation's bar ends: at the last output of its end, else at the end; at its start if nothing came
// between; none while it is open.
index closing_row(const model& from, const selection& part, const activation& a);

}  // namespace digd::picture
