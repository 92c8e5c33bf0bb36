// What a frame of the feed says, as lines for people. Pure; every name and text that came from an agent is escaped.
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

// None for what tells nothing by itself: verdicts that let everything pass.
std::vector<feed_line> feed_lines(const boost::json::object& frame);

}  // namespace digd::cli
