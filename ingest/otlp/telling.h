// What of a run has been told already, so that spans which come later add to it: what was told stands.
//
// An event of an activation that has ended meanwhile is told as one from outside, an activation that is presented with
// more than was said keeps what was said; both are marked and counted. One a run; not thread-safe; grows with the run.
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <boost/unordered/unordered_flat_set.hpp>
#include <cstddef>
#include <string>
#include <vector>

#include "ingest/otlp/mapping.h"

namespace digd::otlp {

class telling {
 public:
  // Of a story, what has not been told; from now on it has.
  std::vector<story_message> news(story&& whole);
  // A message that was told before, as it was written: for who comes back after a restart.
  void recall(const boost::json::object& line);

  bool any() const { return !started_.empty() || !events_.empty(); }
  std::size_t late() const { return late_; }  // messages whose time or source had to give way to what was told

 private:
  struct activation {
    boost::unordered_flat_set<std::string> inputs;
    bool ended = false;
  };
  bool is_news(story_message& one, std::vector<story_message>& more);
  bool is_new_end(story_message& one, std::vector<story_message>& more);
  void adopt(boost::json::object& event);
  void note_start(const boost::json::object& members);
  void keep_time(story_message& one);

  boost::unordered_flat_map<std::string, activation> started_;
  boost::unordered_flat_set<std::string> events_;
  std::int64_t now_ms_ = 0;
  std::size_t late_ = 0;
};

}  // namespace digd::otlp
