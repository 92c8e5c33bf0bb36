// A trace and everything the engine said to it, for tests that read as traces.
//
// The lines are those of a trace file, one JSON object each; what every line has is filled in: `protocol`, `run` and
// `clock` of a hello, the next `seq` of a message's session. A scenario may go on with `then`.
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
  scenario(const scenario&) = delete;  // the replay speaks to this very object
  scenario& operator=(const scenario&) = delete;
  scenario& then(std::string_view lines);

  // All that was said, in order.
  std::vector<detection> detections;
  std::vector<verdict> verdicts;
  std::vector<intervention> interventions;
  std::vector<outcome_report> outcomes;
  std::vector<error> errors;        // not bad_seq, which uses up nothing and is only a frame
  std::vector<std::string> frames;  // all that the client was sent
  std::string problem;              // why the trace cannot go on; empty if it can

  // The only one there is, of a rule if one is named. Fails the test if there are more or fewer.
  const detection& only(std::string_view rule = {}) const;
  const verdict& verdict_on(std::string_view event) const;  // the last one
  // One line a detection: "deadlock [e1, e2] create", "early_termination e5 [e1] not healed: attempts".
  std::vector<std::string> told() const;
  // One line an outcome: "deadlock sys:1 cleared at 20".
  std::vector<std::string> became() const;

  const digd::run& run() const { return *replay_->run(); }
  const graph::graph& graph() const { return run().graph(); }
  // The events that are reachable work, sorted.
  std::vector<std::string> reachable() const;
  bool knows(std::string_view event) const { return graph().find_event(event) != graph::nobody; }

 private:
  void line(std::string_view text);
  void take(const ingest::record& record);

  std::map<std::string, std::uint64_t> next_seq_;
  std::unique_ptr<ingest::replay> replay_;
  ingest::decoder decoder_;
};

std::string told(const detection& d);
// `name` as a JSON string, for lines with odd names.
std::string json_string(std::string_view name);
// ["p0","p1",…]
std::string numbered(std::string_view prefix, std::size_t count);

}  // namespace digd::tests
