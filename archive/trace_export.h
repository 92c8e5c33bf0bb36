// Writes an archived run as a trace file, which `digctl replay` answers as the daemon did (docs/protocol.md, "Trace
// files").
//
// A frame keeps its bytes, with three exceptions: `ts` becomes the archived stamp, `session` is set, and line ends
// between tokens become spaces. Thread: one at a time. Failure: none. Bounds: the id of the first session; one line at
// a time.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "archive/stored.h"

namespace digd::archive {

// Takes a run's entries in the order applied and calls `to` for each line of the trace.
class trace_export {
 public:
  explicit trace_export(std::function<void(std::string_view line)> to) : to_(std::move(to)) {}

  void take(const stored_entry& e);
  // After the last entry. Writes a `time` line if windows fired after the last message.
  void finish();

 private:
  void take_refusal_line(const stored_entry& e);

  std::function<void(std::string_view)> to_;
  std::string first_session_;
  bool just_opened_ = false;
  std::uint64_t first_session_seq_ = 0;
  std::int64_t last_firing_ts_ = 0;
  bool fired_since_ = false;
  bool stamped_ = false;  // the daemon stamped the messages: the wall clock
};

// Replaces line ends between tokens by spaces.
std::string on_one_line(std::string json);

// The value of a member of a valid JSON object, as it is written there; empty: there is none. If a name occurs twice,
// its first value.
std::string_view member_of(std::string_view object, std::string_view name);

// Puts `members` (such as `"ts":5`; may be empty) first in a valid JSON object and removes its members that `drop`
// names.
std::string with_members(std::string_view object, std::string_view members,
                         std::initializer_list<std::string_view> drop);

}  // namespace digd::archive
