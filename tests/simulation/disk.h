// A model of the archive and its disk: entries become durable in batches, sometimes late. A kill loses entries that are
// not durable. The disk keeps durable entries by run, in the order in which they were applied.
//
// Commits are slow or fail at random while `troubled`. Failed commits are tried again, as by the archive's writer.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "tests/simulation/recorded_run.h"
#include "tests/simulation/scheduler.h"

namespace digd::simulation {

class disk {
 public:
  // Reports the latest durable seq of a session.
  using report = std::function<void(const std::string& run, const std::string& session, std::uint64_t seq)>;

  disk(scheduler& clock, dice& chance, report durable) : clock_(clock), chance_(chance), durable_(std::move(durable)) {}

  void push(const std::string& run, tests::recorded_entry&& entry);
  // The process ends: queued entries are lost, and the commit in progress may or may not be stored.
  void kill();
  void set_troubled(bool on) { troubled_ = on; }
  // Faults with which the disk breaks its promises. The simulation must notice them.
  enum class fault : std::uint8_t { none, durable_at_once, forgets_at_a_kill };
  void inject(fault fault) { fault_ = fault; }

  const std::map<std::string, std::vector<tests::recorded_entry>>& stored() const { return stored_; }
  std::uint64_t stored_seq(const std::string& run, const std::string& session) const;
  std::size_t waiting() const { return queue_.size() + batch_.size(); }
  std::uint64_t failed_commits() const { return failed_; }

 private:
  struct queued_entry {
    std::string run;
    tests::recorded_entry entry;
  };
  void write_next();
  void finish(std::uint64_t life);
  void store_batch();
  microseconds commit_time();

  scheduler& clock_;
  dice& chance_;
  report durable_;
  std::vector<queued_entry> queue_, batch_;
  std::map<std::string, std::vector<tests::recorded_entry>> stored_;
  std::map<std::pair<std::string, std::string>, std::uint64_t> seqs_;
  std::uint64_t life_ = 0;  // processes so far: ends commits of an earlier one
  std::uint64_t failed_ = 0;
  bool troubled_ = true;
  fault fault_ = fault::none;
};

}  // namespace digd::simulation
