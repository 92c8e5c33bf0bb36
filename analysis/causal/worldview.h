// Worldviews: what somebody (a person, a language model) believes about causes, as hypotheses to be tested, and what
// experiments said about them. YAML; docs/causal.md shows the format.
//
// A hypothesis never enters the statistics by itself: `required` and `forbidden` edges and tiers are constraints only
// because their author says so; other edges are compared with the data. What an experiment confirmed is a constraint
// from then on; a worldview with an edge that an experiment contradicted loses its place to the next.
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
  std::string expression;  // how it is computed; empty: a column of that name
  bool root = false;
  std::optional<int> tier;
};

struct worldview_edge {
  std::string from, to;
  int sign = 0;  // +1: more of it, more of that; −1: less; 0: not said
  bool required = false;
};

struct worldview {
  std::string name;
  std::vector<worldview_variable> variables;
  std::vector<worldview_edge> edges;
  std::vector<worldview_edge> forbidden;
};

struct worldviews {
  std::string problem;                // empty: read
  std::vector<worldview> worldviews;  // the file's own, then its competing alternatives, each whole
};

// Bounds: 1 MB, 64 alternatives, 1,000 variables and edges each. Unknown keys are refused by name.
worldviews read_worldviews(std::string_view yaml);

// The results of experiments, one a tested edge; a YAML list that `verify` adds to and `explain` reads.
enum class finding_kind : std::uint8_t { confirmed, contradicted, open };
std::string_view to_string(finding_kind);

struct experiment {
  std::string from, to;
  finding_kind result = finding_kind::open;
  int sign = 0;  // of the effect, where confirmed
  double p = 1;
  std::size_t pairs = 0;
};

struct experiments {
  std::string problem;
  std::vector<experiment> experiments;
};
experiments read_experiments(std::string_view yaml);
std::string write_experiments(const std::vector<experiment>& experiments);

// Whether a worldview says what an experiment contradicted, or the opposite sign of what one confirmed: its words.
std::string contradiction_of(const worldview& w, const std::vector<experiment>& found);

}  // namespace digd::causal
