// What the agents of a run do, as messages, one after another: the same for the same dice. It knows roughly what is
// pending and what is open, not what the monitor refused or rerouted: so some of it is wrong, as of real systems.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/simulation/scheduler.h"

namespace digd::simulation {

class story {
 public:
  // A message without its seq, or (`has_seq` false) a frame that can have none.
  struct piece {
    std::string head;  // up to where the seq goes
    std::string tail;
    bool held = false;  // what it announces waits for a verdict
    bool has_seq = true;
    std::string with_seq(std::uint64_t seq) const;
  };

  // `answers`: now and then some agent submits an answer.
  story(dice& chance, std::size_t sessions, bool timed, bool answers);

  piece next(std::size_t session);
  piece delivery_of(std::string_view intervention);
  // Ends one open activation after the other; no time goes by.
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
  std::string recipients();
  std::string output();

  dice& chance_;
  const bool timed_;  // messages have times of their own
  const bool answers_;
  std::int64_t ts_ = 0;
  std::vector<std::vector<std::string>> agents_;                           // by session
  std::vector<std::vector<std::pair<std::string, std::string>>> pending_;  // by session: event, agent
  std::vector<activation> open_;
  std::uint64_t n_ = 0;
};

}  // namespace digd::simulation
