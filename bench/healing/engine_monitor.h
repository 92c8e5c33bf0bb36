// digd's engine in this process, driven as a client drives the daemon: frames in, answers out.
//
// Failure: throws std::runtime_error if the engine refuses the run. Thread: the run's. Bounds: it keeps the first
// `max_kept` detections.
#pragma once

#include <string>
#include <vector>

#include "bench/healing/wire.h"
#include "ingest/protocol/replay.h"

namespace digd::bench {

class engine_monitor : public monitor {
 public:
  explicit engine_monitor(regime asks);
  void open(const std::vector<std::string>& agents, const parameters& parameters) override;
  instruction hear(const report& report) override;
  tally counted() const override { return tally_; }

  const digd::run& run() const { return *replay_.run(); }
  const std::vector<detection>& detections() const override { return kept_; }
  // Called with each line, say to write a trace file; may be empty.
  std::function<void(const std::string&)> on_line;

 private:
  void say(const std::string& line);
  void take(const ingest::record& record);

  regime asks_;
  std::uint64_t seq_ = 0;
  instruction answer_;
  tally tally_;
  std::vector<detection> kept_;
  ingest::replay replay_;
};

}  // namespace digd::bench
