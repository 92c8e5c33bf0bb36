// A run's report, from its stored messages alone: read once for what was observed, and once more, up to where it went
// wrong, for the picture of the graph. What attribution passes found comes in as `part`s.
//
// Thread: one; it blocks. Bounds: `observe_bounds`, `graph_bounds`. Failure: `problem` says what is wrong with the
// trace.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "report/document.h"
#include "report/observed.h"
#include "report/picture/model.h"

namespace digd::report {

// Hands the lines of the run's trace to `each`, from the first, until it says false; once a call. Empty, or why the
// trace cannot be read.
using line_source = std::function<std::string(const std::function<bool(std::string_view line)>& each)>;

struct graph_bounds {
  std::size_t nodes = 300;          // activations and events drawn
  std::size_t nodes_of_part = 120;  // where there are more
  std::size_t rows = 6'000;         // read around the leading detection
  std::uint64_t lines_before = 2'000;
};

// The recorded graph, or the part of it about the leading detection.
struct graph_part {
  picture::model model;
  bool whole = true;  // everything was read
};

struct gathered {
  std::string problem;  // empty: the rest is there
  observed seen;
  graph_part graph;
};

// Reads a run: its lines from the first on, and once more when it asks for that.
class gatherer {
 public:
  explicit gatherer(const observe_bounds& most = {}, const graph_bounds& drawn = {});
  ~gatherer();

  // False: this pass wants no more lines.
  bool line(std::string_view text);
  // After the last line that was wanted. True: begin anew.
  bool pass_again();
  // When no pass is wanted any more; once.
  gathered finish();

 private:
  const graph_bounds drawn_;
  std::unique_ptr<observer> watch_;
  std::unique_ptr<picture::recorder> recorder_;  // the second pass; null before
  gathered out_;
};

gathered gather(const line_source& from, const observe_bounds& most = {}, const graph_bounds& drawn = {});

// A run's name or a file's as it can be typed.
std::string on_command_line(const std::string& name);

// The report; `parts` in the order in which they are told. `subject` is what people call the run on a command line.
document compose(const gathered& from, const std::vector<part>& parts, const std::string& subject,
                 const graph_bounds& drawn = {});

// What stands for the passes where none of them can be run.
std::vector<part> not_run(const std::string& subject, const std::string& why);

}  // namespace digd::report
