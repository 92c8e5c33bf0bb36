// Where commands find the runs that digd saw: in a running daemon, in an archive file or in a fleet.
//
// Thread: one; calls block. Failure: each call returns an error sentence; empty on success. Bounds: lists are read page
// by page; traces and graphs are passed on piece by piece.
#pragma once

#include <boost/json/object.hpp>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "cli/daemon_options.h"
#include "cli/fleet.h"

namespace digd::cli {

class run_source {
 public:
  using each_run = std::function<bool(const boost::json::object& run)>;  // false: no more
  using sink = std::function<bool(std::string_view piece)>;              // likewise

  virtual ~run_source() = default;
  // Newest first; members as in /v1/runs (docs/operate.md).
  virtual std::string runs(const each_run& each) = 0;
  // As /v1/runs/ID.
  virtual std::string details(const std::string& run, boost::json::object& into) = 0;
  // As /v1/pilot. `since`: a time span, as 7d.
  virtual std::string pilot(const std::string& since, boost::json::object& into) = 0;
  virtual std::string trace(const std::string& run, const sink& to) = 0;
  // `format`: json, dot, graphml, dig.graph.v2.
  virtual std::string graph(const std::string& run, const std::string& format, const sink& to) = 0;
};

// Runs opened within a time span, as 7d; all runs if the text is not a time span.
fleet_selection opened_since(const std::string& span);

// The problem of a `since` that is not a time span.
inline constexpr const char* wrong_span = "--since: expected a time span as 90m, 36h, 7d or 4w";

// Null, with `problem` set: there is no such daemon or archive. `selection`: what the command reads of a fleet.
std::unique_ptr<run_source> open_source(const daemon_options& options, const fleet_selection& selection,
                                        std::string& problem);
// Null, after a message on standard error.
std::unique_ptr<run_source> open_source(const std::string& command, const daemon_options& options,
                                        const fleet_selection& selection = {});

}  // namespace digd::cli
