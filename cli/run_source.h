// Where commands find the runs that digd saw: a daemon that is asked, or an archive file that is read.
//
// Thread: one; it blocks. Failure: each call gives what is wrong, for people, or nothing. Bounds: lists come page by
// page, as they are taken; traces and graphs are handed on as they come.
#pragma once

#include <boost/json/object.hpp>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "cli/daemon_options.h"

namespace digd::cli {

class run_source {
 public:
  using each_run = std::function<bool(const boost::json::object& run)>;  // false: no more
  using sink = std::function<bool(std::string_view piece)>;              // likewise

  virtual ~run_source() = default;
  // Newest first; as in the list of /v1/runs (docs/operate.md).
  virtual std::string runs(const each_run& each) = 0;
  // As /v1/runs/ID.
  virtual std::string details(const std::string& run, boost::json::object& into) = 0;
  // As /v1/pilot. `since`: a time span, as 7d.
  virtual std::string pilot(const std::string& since, boost::json::object& into) = 0;
  virtual std::string trace(const std::string& run, const sink& to) = 0;
  // `format`: json, dot, graphml, dig.graph.v2.
  virtual std::string graph(const std::string& run, const std::string& format, const sink& to) = 0;
};

// Null, after a word on standard error, if there is no such place.
std::unique_ptr<run_source> open_source(const std::string& command, const daemon_options& options);

}  // namespace digd::cli
