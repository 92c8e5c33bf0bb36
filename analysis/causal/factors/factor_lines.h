// The part of a run that a factor table needs, and its text form: one JSON object in a line. With these lines, several
// machines can read the runs of one table (docs/fleet.md, "Passes over many runs").
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace digd::causal {

struct run_factors {
  std::string run;
  bool ended = false, success = false;
  std::string lacking;                // the user factor that has no value; the members below are empty then
  std::vector<double> builtin, user;  // in the order of builtin_factors() and of factor_request::user
  std::map<std::string, std::string> labels;
  std::map<std::string, double> metrics;
  std::string note;  // not empty: this is no run, but a note about runs that were left out
};

// With the line end. Every number reads back as the same number.
std::string line_of(const run_factors& of);

// False if the text is not such a line.
bool read_line(std::string_view line, run_factors& into);

}  // namespace digd::causal
