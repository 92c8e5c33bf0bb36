// The daemon, modelled around the real inbox: runs, the seats of their sessions, credits, acks, being killed and coming
// back. Sockets, threads and SQLite are not in it; what daemon/runs/run_host.cpp, daemon/runs/conversation.cpp and
// daemon/runs/recovery.cpp do with them is done here with the simulation's own, in the same order.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "ingest/protocol/decode.h"
#include "ingest/protocol/inbox.h"
#include "tests/simulation/disk.h"
#include "tests/simulation/link.h"

namespace digd::simulation {

struct totals {
  std::uint64_t messages = 0;  // taken live, those again after a kill too
  std::uint64_t replayed = 0;  // entries read back
  std::uint64_t kills = 0, cuts = 0, connections = 0, commits_failed = 0, paused = 0, held = 0;
  std::uint64_t detections = 0, at_end = 0, interventions = 0, refused = 0, gave_way = 0, runs = 0;
  std::uint64_t digest = 0;  // of all that was said: equal for equal seeds
};

class monitor {
 public:
  static constexpr std::uint64_t credits = 128;

  monitor(scheduler& clock, dice& chance, totals& sum);
  ~monitor();

  // A client connects; null: the monitor is down.
  bool accept(const std::shared_ptr<link>& from);
  void kill();
  void start();
  bool is_up() const { return up_; }
  void switch_modes(mode strongest);
  // Every promise that can be looked at between two steps.
  void check() const;
  // At the end: each run's record replayed from the beginning is the run that lives.
  void check_replay();

  disk& archive() { return archive_; }
  bool is_settled() const;  // nothing waits for the disk or for other sessions

 private:
  struct seat {
    std::shared_ptr<link> connection;
  };
  class hosted;

  void greet(const std::shared_ptr<link>& from, const std::string& frame);
  void refuse(const std::shared_ptr<link>& from, const refusal_note& note);
  hosted& open(const hello& first);
  std::unique_ptr<hosted> read_back(const std::string& run, const std::vector<tests::recorded_entry>& entries);
  void on_durable(const std::string& run, const std::string& session, std::uint64_t seq);
  void wake_at(hosted& who);

  scheduler& clock_;
  dice& chance_;
  totals& sum_;
  disk archive_;
  ingest::decoder hellos_;
  const run_policy policy_;
  std::map<std::string, std::unique_ptr<hosted>> runs_;
  std::vector<std::weak_ptr<link>> links_;
  bool up_ = true;
  std::uint64_t life_ = 0;
};

}  // namespace digd::simulation
