// Composes the report of a run from its stored messages. One pass collects the observations; a second pass, up to the
// failure, draws the graph. The results of attribution methods are passed in as `part`s.
//
// Thread: one; calls block. Bounds: `observe_bounds`, `graph_bounds`. Failure: `problem` is a sentence about the trace.
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

// Each call reads the trace from its first line and passes the lines to `each` until it returns false. Returns an error
// sentence; empty on success.
using line_source = std::function<std::string(const std::function<bool(std::string_view line)>& each)>;

struct graph_bounds {
  std::size_t nodes = 300;          // activations and events drawn
  std::size_t nodes_of_part = 120;  // if the graph has more
  std::size_t rows = 6'000;         // read around the leading detection
  std::uint64_t lines_before = 2'000;
};

// The recorded graph, or its part around the leading detection.
struct graph_part {
  picture::model model;
  bool whole = true;  // everything was read
};

struct gathered {
  std::string problem;  // empty: the graph is complete
  observed seen;
  graph_part graph;
};

// Takes a run's lines in one or two passes.
class gatherer {
 public:
  explicit gatherer(const observe_bounds& most = {}, const graph_bounds& drawn = {});
  ~gatherer();

  // False: this pass needs no more lines.
  bool line(std::string_view text);
  // At the end of a pass. True: pass the lines again, from the first.
  bool pass_again();
  // Once, after the last pass.
  gathered finish();

 private:
  const graph_bounds drawn_;
  std::unique_ptr<observer> watch_;
  std::unique_ptr<picture::recorder> recorder_;  // the second pass; null before
  gathered out_;
};

gathered gather(const line_source& from, const observe_bounds& most = {}, const graph_bounds& drawn = {});

// The name of a run or file, quoted for a shell.
std::string on_command_line(const std::string& name);

// The report, with `parts` in their order. `subject` names the run on a command line.
document compose(const gathered& from, const std::vector<part>& parts, const std::string& subject,
                 const graph_bounds& drawn = {});

// The part that replaces the attribution methods where none can run.
std::vector<part> not_run(const std::string& subject, const std::string& problem);

}  // namespace digd::report
