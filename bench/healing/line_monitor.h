// A monitor at the other end of a pipe (daemon.py): each message goes out as a line, and its answer comes back as a
// line.
//
// An answer is {"verdicts":[…],"interventions":[…]} with members as in the frames of the protocol. The hello has no
// answer. Thread: one; it waits for the answer. Lifetime: the streams outlive it. Failure: `hear` throws
// std::runtime_error.
#pragma once

#include <iosfwd>

#include "bench/healing/wire.h"

namespace digd::bench {

class line_monitor final : public monitor {
 public:
  line_monitor(std::istream& from, std::ostream& to, std::string run, regime asks);
  void open(const std::vector<std::string>& agents, const parameters& parameters) override;
  instruction hear(const report& report) override;  // throws if the answer is not valid

 private:
  std::istream& from_;
  std::ostream& to_;
  std::string run_;
  regime asks_;
  std::uint64_t seq_ = 0;
};

}  // namespace digd::bench
