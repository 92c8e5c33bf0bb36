#include "bench/healing/monitor.h"

namespace digd::bench {

std::size_t blocked_in(const report& given_report) {
  std::size_t n = given_report.events.size();
  for (const report::reacted& reacted : given_report.reactions) n += reacted.reaction == reaction::reroute;
  return n;
}

instruction nobody::hear(const report& report) {
  instruction instruction;
  instruction.verdicts.resize(blocked_in(report));
  return instruction;
}

}  // namespace digd::bench
