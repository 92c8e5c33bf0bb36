// A trace and all answers of the engine to it, for tests that are written as traces.
//
// The lines are those of a trace file, one JSON object each. The scenario adds the members that every line needs:
// `protocol`, `run` and `clock` of a hello, and the next `seq` of a message's session. `then` continues the trace.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ingest/protocol/replay.h"
#include "model/answer.h"

namespace digd::tests {

class scenario {
 public:
  struct error {
    std::uint64_t seq = 0;
    std::string code;
    std::string field;
    std::string text;
  };

  explicit scenario(std::string_view lines = {}, const run_policy& policy = {});
  scenario(const scenario&) = delete;  // the replay holds a pointer to this object
  scenario& operator=(const scenario&) = delete;
  scenario& then(std::string_view lines);

  // All answers, in order.
  std::vector<detection> detections;
  std::vector<verdict> verdicts;
  std::vector<intervention> interventions;
  std::vector<outcome_report> outcomes;
  std::vector<error> errors;        // without bad_seq, which is only a frame
  std::vector<std::string> frames;  // all frames to the client
  std::string problem;              // why the trace cannot continue; empty if it can

  // Returns the only detection, or the only one of `rule`. Fails the test if there are more or none.
  const detection& only(std::string_view rule = {}) const;
  const verdict& verdict_on(std::string_view event) const;  // the latest
  // One line for each detection: "deadlock [e1, e2] create", "early_termination e5 [e1] not healed: attempts".
  std::vector<std::string> detection_summaries() const;
  // One line for each outcome: "deadlock sys:1 cleared at 20".
  std::vector<std::string> outcome_summaries() const;

  const digd::run& run() const { return *replay_->run(); }
  const graph::graph& graph() const { return run().graph(); }
  // The ids of reachable work, sorted.
  std::vector<std::string> reachable() const;
  bool knows(std::string_view event) const { return graph().find_event(event) != graph::nobody; }

 private:
  void line(std::string_view text);
  void take(const ingest::record& record);

  std::map<std::string, std::uint64_t> next_seq_;
  std::unique_ptr<ingest::replay> replay_;
  ingest::decoder decoder_;
};

std::string summary(const detection& d);
// `name` as a JSON string, for lines with unusual names.
std::string json_string(std::string_view name);
// ["p0","p1",…]
std::string numbered(std::string_view prefix, std::size_t count);

}  // namespace digd::tests
