// A model of the daemon around the real inbox: runs, session slots, credits, acks, kills and recovery. It has no
// sockets, threads or SQLite. It does what daemon/runs/run_host.cpp, daemon/runs/conversation.cpp and
// daemon/runs/read_back.cpp do, in the same order, with the simulated network and disk.
#pragma once

#include <functional>
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
  std::uint64_t messages = 0;  // accepted live, including repeated ones after a kill
  std::uint64_t replayed = 0;  // entries recovered
  std::uint64_t repeated = 0;  // answers that a client had missed, sent again
  std::uint64_t kills = 0, cuts = 0, connections = 0, commits_failed = 0, paused = 0, held = 0;
  std::uint64_t detections = 0, at_end = 0, interventions = 0, refused = 0, degraded = 0, runs = 0;
  std::uint64_t guards_fired = 0, holds = 0, decided = 0, decided_late = 0;
  std::uint64_t digest = 0;  // of all answers: equal for equal seeds
};

class monitor {
 public:
  static constexpr std::uint64_t credits = 128;

  monitor(scheduler& clock, dice& chance, totals& sum);
  ~monitor();

  // A client connects. Returns false if the monitor is down.
  bool accept(const std::shared_ptr<link>& from);
  void kill();
  void start();
  bool is_up() const { return up_; }
  void switch_modes(mode strongest);
  // A hold began: its run, number and length.
  using hold_watcher = std::function<void(const std::string&, std::uint64_t, milliseconds)>;
  void watch_holds(hold_watcher watcher) { hold_watcher_ = std::move(watcher); }
  // A person decides on a hold that may have ended, or that a kill has made undone.
  void decide(const std::string& run, const ingest::own_line& decision);
  // Checks every promise that can be checked between two steps.
  void check() const;
  // At the end: checks that each run's record, replayed from the beginning, gives the graph of the live run.
  void check_replay();

  disk& archive() { return archive_; }
  bool is_settled() const;  // no entry waits for the disk, and no frame for another session

 private:
  struct session_slot {
    std::shared_ptr<link> connection;
  };
  class hosted;

  void greet(const std::shared_ptr<link>& from, const std::string& frame);
  void refuse(const std::shared_ptr<link>& from, const refusal_note& note);
  hosted& open(const hello& first);
  std::unique_ptr<hosted> recover(const std::string& run, const std::vector<tests::recorded_entry>& entries);
  void on_durable(const std::string& run, const std::string& session, std::uint64_t seq);
  void plan_wake(hosted& host);

  scheduler& clock_;
  dice& chance_;
  totals& sum_;
  disk archive_;
  ingest::decoder hellos_;
  const run_policy policy_;
  hold_watcher hold_watcher_;
  std::map<std::string, std::unique_ptr<hosted>> runs_;
  std::vector<std::weak_ptr<link>> links_;
  bool up_ = true;
  std::uint64_t life_ = 0;  // processes so far: ends tasks of an earlier one
};

}  // namespace digd::simulation
