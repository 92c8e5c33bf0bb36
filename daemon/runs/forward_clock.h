// The wall clock without its backward steps. When the system clock is set back, this clock continues from its last
// value, so that windows end and stamps never decrease. It follows steps forward.
//
// Thread: its engine thread. Failure: none. A step back of at least `min_logged_ms` is logged once.
#pragma once

#include <algorithm>
#include <chrono>

#include "base/unix_time.h"
#include "model/message.h"

namespace digd::daemon {

class forward_clock {
 public:
  static constexpr milliseconds min_logged_ms = 1'000;

  // Logs a step back. Reads the wall clock at most once a millisecond, because every message asks for the time.
  milliseconds now();

  // `wall` and `steady`: the system's clocks at the same instant. Sets `set_back_ms` to how far the wall clock was set
  // back since the last call; 0 if it is less than `min_logged_ms`.
  milliseconds at(milliseconds wall, milliseconds steady, milliseconds& set_back_ms) {
    const milliseconds difference = wall - steady;
    const bool is_back = has_read_ && difference <= last_ - min_logged_ms;
    set_back_ms = is_back ? last_ - difference : 0;
    highest_ = has_read_ ? std::max(highest_, difference) : difference;
    last_ = difference;
    read_at_ = steady;
    has_read_ = true;
    return steady + highest_;
  }

 private:
  bool has_read_at(milliseconds steady) const { return has_read_ && read_at_ == steady; }

  milliseconds last_ = 0, highest_ = 0;  // how far the wall clock is ahead of the steady one: last, and at most
  milliseconds read_at_ = 0;             // the steady clock at the last reading of the wall clock
  bool has_read_ = false;
};

}  // namespace digd::daemon
