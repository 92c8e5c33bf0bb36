// An archived run as a trace file: what `digctl replay` answers as the daemon did (docs/protocol.md, "Trace files").
//
// Frames are kept to the letter but for their `ts`, which becomes the archived stamp, their `session`, and line ends
// between their tokens, which become spaces.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "archive/archive.h"

namespace digd::archive {

// Takes a run's entries in the order applied and hands on the lines of its trace.
class trace_export {
 public:
  explicit trace_export(std::function<void(std::string_view line)> to) : to_(std::move(to)) {}

  void take(const stored_entry& e);
  // After the last entry: a `time` line if windows fired after the last message.
  void finish();

 private:
  void take_stand_in(const stored_entry& e, const std::string& stamp);

  std::function<void(std::string_view)> to_;
  std::string first_session_;
  bool just_opened_ = false;
  std::uint64_t first_session_seq_ = 0;
  std::int64_t last_firing_ts_ = 0;
  bool fired_since_ = false;
  bool stamped_ = false;  // the stamps are the daemon's own
};

// JSON on one line, whatever white space it came with.
std::string on_one_line(std::string json);

// A valid JSON object without those of its own members that `drop` names, and with `members` (text such as
// `"ts":5`, may be empty) put first.
std::string with_members(std::string_view object, std::string_view members,
                         std::initializer_list<std::string_view> drop);

}  // namespace digd::archive
