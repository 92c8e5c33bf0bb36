#include "bench/healing/monitor.h"

namespace digd::bench {

std::size_t blocked_in(const report& what) {
  std::size_t n = what.events.size();
  for (const report::reacted& one : what.reactions) n += one.what == reaction::reroute;
  return n;
}

instruction nobody::hear(const report& what) {
  instruction told;
  told.verdicts.resize(blocked_in(what));
  return told;
}

}  // namespace digd::bench
