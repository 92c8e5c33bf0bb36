// A frame of the feed as lines for people. Pure; every name and text of an agent is escaped.
#pragma once

#include <boost/json/object.hpp>
#include <string>
#include <vector>

#include "cli/table.h"

namespace digd::cli {

struct feed_line {
  std::string text;
  table::tone tone = table::tone::plain;
};

// Empty for frames without news: verdicts that let everything pass.
std::vector<feed_line> feed_lines(const boost::json::object& frame);

}  // namespace digd::cli
