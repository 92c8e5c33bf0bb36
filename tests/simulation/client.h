// A client, modelled: one session of a run. It keeps what is not acked, comes back after a broken connection, goes on
// from what `welcome` says, and holds the monitor to what it was told.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "tests/simulation/link.h"
#include "tests/simulation/monitor.h"
#include "tests/simulation/story.h"

namespace digd::simulation {

class client {
 public:
  struct manner {
    std::string run, session;
    std::size_t number = 0;  // which of the run's sessions
    bool trace_clock = true;
    bool alone = true;             // the run has no other session
    bool greedy = false;           // heeds no credits
    bool fickle = false;           // says other capabilities each time
    bool ends = false;             // its last messages bring the run to rest and end it
    std::uint64_t messages = 100;  // to say
    microseconds latency = 500;
    microseconds reading = 0;  // what a frame costs it
  };

  client(scheduler& clock, dice& chance, monitor& to, story& tells, manner manner);

  void begin();
  void cut();
  // After a kill: what was judged and not stored may be judged otherwise, unless the run is this session's alone.
  void expect_new_judgement();
  bool is_through() const { return sent_.size() == manner_.messages && acked_ == sent_.size() && owed_.empty(); }
  // At the end: everything said stands in the record, once, in order.
  void check_record(const disk& archive) const;

 private:
  struct said {
    std::string frame;
    bool held = false;
    bool has_seq = true;
  };
  void connect();
  void closed();
  void think();
  story::piece next_piece();
  void say(story::piece&& piece);
  void send(std::uint64_t seq);
  void hear(std::string&& frame);
  void hear_welcome(std::string_view frame);
  void hear_ack(std::uint64_t seq);
  void hear_answer(std::uint64_t seq, std::string_view frame);
  void hear_intervention(std::string_view frame);
  std::string who() const { return "run " + manner_.run + " session " + manner_.session + ": "; }

  scheduler& clock_;
  dice& chance_;
  monitor& monitor_;
  story& story_;
  const manner manner_;
  std::shared_ptr<link> link_;
  bool greeted_ = false;
  std::vector<said> sent_;  // seq is the place in it, from 1
  std::uint64_t acked_ = 0;
  std::uint64_t resumed_at_ = 0;  // what was acked and sent when this connection began
  std::uint64_t resent_to_ = 0;
  std::set<std::uint64_t> answered_;  // on this connection
  std::set<std::uint64_t> owed_;      // sent on this connection, held, not answered yet
  std::map<std::uint64_t, std::uint64_t>
      heard_;                       // seq: digest of the first answer, above what was acked at the welcome
  std::set<std::string> reported_;  // interventions
};

}  // namespace digd::simulation
