// A model of a client: one session of a run. It keeps unacknowledged messages, reconnects after a broken connection,
// continues from the `acked_seq` of `welcome`, and checks the answers of the daemon.
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
  struct behaviour {
    std::string run, session;
    std::size_t number = 0;  // the session's position in the run, from 0
    bool trace_clock = true;
    bool guarded = false;       // the run has guards
    bool is_sole_cause = true;  // of what its run does: no other session, and no operator switches modes or decides
    bool ignores_credits = false;
    bool changes_capabilities = false;  // at each reconnect
    bool ends_run = false;              // its last messages end open activations, then the run
    std::uint64_t messages = 100;       // to send
    microseconds latency = 500;
    microseconds read_time = 0;  // for each frame
  };

  client(scheduler& clock, dice& chance, monitor& daemon, story& story, behaviour behaviour);

  void begin();
  void cut();
  // After a kill the daemon may judge messages that were not stored differently, unless this is the run's only session.
  void allow_new_verdicts();
  // Whether all messages are sent, acknowledged and answered.
  bool is_finished() const {
    return sent_.size() == behaviour_.messages && acked_ == sent_.size() && unanswered_.empty() && missed_.empty();
  }
  // At the end: checks that the record has every message once and in order.
  void check_record(const disk& archive) const;

 private:
  struct sent_message {
    std::string frame;
    bool held = false;  // waits for its verdict
    bool has_seq = true;
  };
  void connect();
  void closed();
  void send_when_allowed();
  story::piece next_piece();
  void add(story::piece&& piece);
  void send(std::uint64_t seq);
  void receive(std::string&& frame);
  void receive_welcome(std::string_view frame);
  void receive_ack(std::uint64_t seq);
  void receive_answer(std::uint64_t seq, std::string_view frame);
  void receive_intervention(std::string_view frame);
  std::string label() const { return "run " + behaviour_.run + " session " + behaviour_.session + ": "; }

  scheduler& clock_;
  dice& chance_;
  monitor& monitor_;
  story& story_;
  const behaviour behaviour_;
  std::shared_ptr<link> link_;
  bool welcomed_ = false;
  std::vector<sent_message> sent_;  // the message with seq n is at n - 1
  std::uint64_t acked_ = 0;
  std::uint64_t resumed_at_ = 0;        // the acked seq when this connection began
  std::uint64_t resent_to_ = 0;         // the last seq that was sent again on this connection
  std::set<std::uint64_t> answered_;    // on this connection
  std::set<std::uint64_t> missed_;      // held messages sent on any connection that never had an answer
  std::uint64_t asked_after_ = 0;       // the `answered_seq` of this connection
  std::set<std::uint64_t> unanswered_;  // held messages sent on this connection that have no answer yet
  std::map<std::uint64_t, std::uint64_t> first_answers_;  // digests by seq, above the acked_seq of the welcome
  std::set<std::string> reported_;                        // ids of interventions
};

}  // namespace digd::simulation
