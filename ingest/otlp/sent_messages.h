// The messages of a run that were already sent. Later spans add messages and never change sent ones.
//
// An event of an activation that has ended meanwhile is sent as an event from outside. An activation that was sent
// without an input that is now known keeps the inputs that it was sent with. Both are marked and counted. One object a
// run; not thread-safe; grows with the run.
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <boost/unordered/unordered_flat_set.hpp>
#include <cstddef>
#include <string>
#include <vector>

#include "ingest/otlp/mapping.h"

namespace digd::otlp {

class sent_messages {
 public:
  // The messages of the run that were not sent yet. From now on they count as sent.
  std::vector<run_message> take_unsent(mapped_run&& whole);
  // Adds a message that was sent before a restart, as it was written.
  void note(const boost::json::object& line);

  bool any() const { return !started_.empty() || !events_.empty(); }
  std::size_t moved() const { return moved_; }  // messages whose time or source was changed to fit what was sent

 private:
  struct activation {
    boost::unordered_flat_set<std::string> inputs;
    bool ended = false;
  };
  bool is_unsent(run_message& message, std::vector<run_message>& extra);
  bool is_unsent_end(run_message& message, std::vector<run_message>& extra);
  void send_from_outside(boost::json::object& event);
  void note_start(const boost::json::object& members);
  void keep_time(run_message& message);

  boost::unordered_flat_map<std::string, activation> started_;
  boost::unordered_flat_set<std::string> events_;
  std::int64_t now_ms_ = 0;
  std::size_t moved_ = 0;
};

}  // namespace digd::otlp
