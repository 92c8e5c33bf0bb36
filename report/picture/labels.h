// Labels that all pictures share, for events, times and findings. Names are safe to print.
#pragma once

#include <string>
#include <string_view>

#include "report/picture/model.h"
#include "report/picture/selection.h"

namespace digd::picture {

// How times are written: since the run's first message. In ms or s along an axis, depending on the run's length.
struct time_scale {
  milliseconds zero = 0;  // the first message
  bool seconds = false;
  bool dated = false;  // `zero` is a date

  static time_scale of(const model& m);
  static time_scale of(milliseconds first, milliseconds last);
  std::string_view unit() const { return seconds ? "s" : "ms"; }
  std::string at(milliseconds ts) const;      // "40", "12.34": on the axis, in its unit
  std::string moment(milliseconds ts) const;  // "400 ms", "12.3 s", "23:19", "1:02:03": in a sentence
  std::string start() const;                  // "2025-11-21 14:25:03.120 UTC"; empty if not dated
};

std::string duration(milliseconds ms);  // "40 ms", "1.2 s", "3 min 4 s"
std::string summary(const model& m);    // "enforce · 3 agents · …"
// "ET early_termination", then what it is about and the reason; without the healing.
std::string finding_title(const detection& d);
std::string finding_outcome(const detection& d);  // "healed: given back", "not healed: mode"
std::string_view sign(reaction reaction);         // ✓ … ✗ ↪; · while open
std::string_view sign(fate fate);                 // of a delivery; empty where the line shows it

}  // namespace digd::picture
