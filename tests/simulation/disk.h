// The archive and its disk, modelled: entries become durable in batches, late, or not at all for a while; a kill loses
// what was not durable. What is durable is kept per run, in the order applied.
//
// Faults come and go by themselves while `troubled`; a commit that fails is tried again, as the archive's writer does.
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
  // The latest durable seq of a session.
  using report = std::function<void(const std::string& run, const std::string& session, std::uint64_t seq)>;

  disk(scheduler& clock, dice& chance, report durable) : clock_(clock), chance_(chance), durable_(std::move(durable)) {}

  void push(const std::string& run, tests::recorded_entry&& entry);
  // The process is gone: what is queued is lost; of the commit under way nobody knows.
  void kill();
  void be_troubled(bool on) { troubled_ = on; }
  // A disk that breaks its own promises, to see that the simulation notices.
  enum class lie : std::uint8_t { none, durable_at_once, forgets_at_a_kill };
  void tell(lie which) { lie_ = which; }

  const std::map<std::string, std::vector<tests::recorded_entry>>& stored() const { return stored_; }
  std::uint64_t stored_seq(const std::string& run, const std::string& session) const;
  std::size_t waiting() const { return queue_.size() + batch_.size(); }
  std::uint64_t failed_commits() const { return failed_; }

 private:
  struct parcel {
    std::string run;
    tests::recorded_entry entry;
  };
  void write_on();
  void finish(std::uint64_t life);
  void store_batch();
  microseconds commit_takes();

  scheduler& clock_;
  dice& chance_;
  report durable_;
  std::vector<parcel> queue_, batch_;
  std::map<std::string, std::vector<tests::recorded_entry>> stored_;
  std::map<std::pair<std::string, std::string>, std::uint64_t> seqs_;
  std::uint64_t life_ = 0;
  std::uint64_t failed_ = 0;
  bool troubled_ = true;
  lie lie_ = lie::none;
};

}  // namespace digd::simulation
