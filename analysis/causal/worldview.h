// Worldviews (beliefs about causes, written by a person or a language model) and results of experiments, read from
// YAML; docs/causal.md shows the formats.
//
// A hypothesis never enters the statistics by itself. `required` and `forbidden` edges and tiers are constraints
// because their author marks them so; all other edges are only compared with the data. An edge that an experiment
// confirmed is a constraint from then on. If an experiment contradicts an edge of a worldview, the next worldview
// in order is used instead.
//
// Failure: `problem` names the line and the field, and everything else is empty.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace digd::causal {

enum class scale : std::uint8_t { unknown, micro, meso, macro };
std::string_view to_string(scale);

struct worldview_variable {
  std::string name;
  scale at = scale::unknown;
  std::string expression;  // empty: a column of that name
  bool root = false;
  std::optional<int> tier;
};

struct worldview_edge {
  std::string from, to;
  int sign = 0;  // +1: both grow together; −1: the effect falls; 0: not stated
  bool required = false;
};

struct worldview {
  std::string name;
  std::vector<worldview_variable> variables;
  std::vector<worldview_edge> edges;
  std::vector<worldview_edge> forbidden;
};

struct worldviews {
  std::string problem;                // empty: success
  std::vector<worldview> worldviews;  // the file's own, then its alternatives, each complete
};

// Bounds: 1 MiB, 64 alternatives, 1,000 variables and edges each. Refuses unknown keys by name.
worldviews read_worldviews(std::string_view yaml);

// Results of experiments, one for each tested edge: a YAML list that `verify` extends and `explain` reads.
enum class finding_kind : std::uint8_t { confirmed, contradicted, open };
std::string_view to_string(finding_kind);

struct experiment {
  std::string from, to;
  finding_kind result = finding_kind::open;
  int sign = 0;  // of a confirmed effect
  double p = 1;
  std::size_t pairs = 0;
};

struct experiments {
  std::string problem;
  std::vector<experiment> experiments;
};
experiments read_experiments(std::string_view yaml);
std::string write_experiments(const std::vector<experiment>& experiments);

// The sentence that says which claim of the worldview an experiment refutes: a contradicted edge, the opposite sign or
// the opposite direction of a confirmed one. Empty if none.
std::string contradiction_of(const worldview& w, const std::vector<experiment>& found);

}  // namespace digd::causal
