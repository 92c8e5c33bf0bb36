// The holds of a run: events that wait for a person (docs/guards.md).
//
// One per run, on its engine thread. Bounds: open holds are bounded by live events; of ended holds it remembers the
// latest `max_remembered`.
#pragma once

#include <boost/container/deque.hpp>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "graph/graph.h"
#include "model/answer.h"
#include "model/guard.h"
#include "model/message.h"
#include "model/rule_id.h"

namespace digd {

struct open_hold {
  graph::event_index event = graph::nobody;  // it lives while the hold is open: its deliveries are pending
  std::vector<graph::agent_index> agents;    // the recipients whose deliveries wait
  graph::agent_index sender = graph::nobody;
  graph::agent_index spender = graph::nobody;  // of a budget hold: the agent whose totals were over; nobody: the run
  rule_id guard{};
  std::uint32_t session = 0;  // that announced the event
  milliseconds since = 0;
  milliseconds due_ms = 0;
  std::string text;
  std::string reason;
};

class holds {
 public:
  static constexpr std::size_t max_remembered = 1000;

  // The number of a hold that `open` will open later.
  std::uint64_t reserve() { return opened_ + ++reserved_; }
  void open(open_hold hold, std::string_view event_id);
  // Removes it. It must be open.
  open_hold close(std::uint64_t number);

  bool empty() const { return open_.empty(); }
  const std::map<std::uint64_t, open_hold>& by_number() const { return open_; }
  const open_hold* find(std::uint64_t number) const;
  // The numbers of the open holds on the event, in order.
  std::vector<std::uint64_t> on(graph::event_index e) const;
  // The open hold that is due first; of several the one with the least number.
  std::optional<std::pair<milliseconds, std::uint64_t>> next() const;
  bool was_opened(std::uint64_t number) const { return number >= 1 && number <= opened_; }
  // The id of the hold's event; empty if it was never opened, or ended long ago.
  std::string_view event_of(std::uint64_t number) const;

 private:
  void forget_ended();

  std::map<std::uint64_t, open_hold> open_;
  std::set<std::pair<graph::event_index, std::uint64_t>> by_event_;      // of the open ones
  std::map<std::pair<milliseconds, std::uint64_t>, std::uint64_t> due_;  // of the open ones
  boost::container::deque<std::string> events_;                          // of the latest holds, by number
  std::uint64_t opened_ = 0;
  std::uint64_t reserved_ = 0;
};

// Carries out the end of a hold that was closed, and returns the intervention that tells the client. A released event
// keeps its deliveries. A returned event goes back to its sender, or to nobody if the sender is not in the roster; of
// an `fyi` event, only the text goes back. Another hold on the event stays open: a person still decides on its
// deliveries. `text` goes with the event; a returned event without one gets a default text.
intervention carry_out_hold_end(graph::graph& g, std::uint64_t number, const open_hold& hold, hold_end decision,
                                std::string text);

// The number in `hold:N` or `cancel:N`; nothing if `id` has another form.
std::optional<std::uint64_t> number_in(std::string_view id, std::string_view prefix);

}  // namespace digd
