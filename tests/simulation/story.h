// The messages that the agents of a run send. The same dice give the same messages. A story knows roughly what is
// pending and open, but not what the daemon refused or rerouted. Some messages are therefore wrong, as in real systems.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/simulation/scheduler.h"

namespace digd::simulation {

class story {
 public:
  // A message without its seq, or a frame that cannot have one (`has_seq` is false).
  struct piece {
    std::string head;  // before the seq
    std::string tail;
    bool held = false;  // its events wait for a verdict
    bool has_seq = true;
    std::string with_seq(std::uint64_t seq) const;
  };

  struct options {
    bool timed = false;    // messages have times
    bool answers = false;  // agents sometimes submit an answer
    bool guarded = false;  // messages have what guards judge: usage and fingerprints
  };
  story(dice& chance, std::size_t sessions, options options);

  piece next(std::size_t session);
  piece delivery_of(std::string_view intervention);
  // Ends one open activation, without time passing.
  piece wind_down(std::size_t session);
  piece end_of_run();
  const std::vector<std::string>& agents(std::size_t session) const { return agents_[session]; }

 private:
  struct activation {
    std::string id;
    std::string input;
    std::size_t session;
  };
  piece root(std::size_t session);
  piece start(std::size_t session);
  piece end(std::size_t session);
  piece nonsense();
  std::string stamp();
  std::string usage();
  std::string recipients();
  std::string output();

  dice& chance_;
  const options options_;
  std::int64_t ts_ = 0;
  std::vector<std::vector<std::string>> agents_;                           // by session
  std::vector<std::vector<std::pair<std::string, std::string>>> pending_;  // by session: event, agent
  std::vector<activation> open_;
  std::uint64_t last_id_ = 0;
};

}  // namespace digd::simulation
