// A general-purpose agent without a role: its knowledge, and its decision in one activation with everything in its
// buffer.
//
// A decision is a pure function of the agent, the inputs and the random draws; the world (world.h) carries it out.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "bench/healing/draws.h"
#include "bench/healing/parameters.h"
#include "bench/healing/problem.h"
#include "model/message.h"
#include "model/rule_id.h"

namespace digd::bench {

inline constexpr int none = -1;

enum class item_kind : std::uint8_t { problem, raw, solution, notice };
std::string_view to_string(item_kind);

// The content of an event. Its index in the world's list is its number.
struct item {
  std::string id;
  item_kind kind = item_kind::problem;
  range part;              // for a problem or raw data
  solution result;         // for a solution
  int source = none;       // agent
  int reply_to = none;     // author of the problem that this belongs to
  bool submitted = false;  // it was submitted as the answer; digd may have given it back
};

// What a text asks for beyond its rule's usual request (reading.h). Names are those in the text.
struct request {
  bool count_once = false;           // count nothing twice
  bool wait = false;                 // wait for work of others
  bool not_wait = false;             // hand out the missing parts instead of waiting
  bool again = false;                // hand them out whenever it would submit too early
  bool only_whole = false;           // submit only a complete answer
  bool redo = false;                 // redo an answer that counts elements twice
  std::string pass_on_to;            // pass an answer that lacks more than half on to this agent
  std::vector<std::string> to;       // agents to hand parts out to
  std::string reader;                // agent that `take_in` addresses; empty: every reader
  std::vector<std::string> take_in;  // consume these events without working on them
};

// A hint that came with an event, as its reader understands it: the rule, its subject, its request.
struct hint {
  rule_id rule{};
  request asks;
  std::string event;  // the event that the rule fired on; empty for a window
  std::vector<std::string> evidence;
  std::uint64_t number = 0;  // of the hint, in the run
};

// An event in an agent's buffer.
struct presented {
  int number = 0;  // of the item
  std::vector<hint> hints;
  bool given_back = false;
};

// A result that an agent remembers.
struct held_result {
  std::uint64_t number = 0;  // of the item, or a number above `own_results`
  std::string id;            // of the event; empty for its own result
  solution result;
};

struct agent {
  int number = 0;
  bool forgetful = false;
  bool only_whole = false;        // a hint said: submit only a complete answer
  bool again = false;             // a hint said: hand out missing parts instead of submitting early
  std::uint64_t activations = 0;  // number of activations so far
  std::uint64_t chases = 0;       // number of times it handed out missing parts
  std::vector<held_result> memory;
  std::set<std::string> warned;  // results that it must not count twice, by a hint
  std::set<int> overflowed;      // items with raw data that did not fit into a call
};

struct output {
  digd::bench::item item;
  std::vector<int> recipients;  // may include `no_such_agent`
  bool submit = false;
};
inline constexpr int no_such_agent = -2;

struct handled {
  digd::reaction reaction = reaction::wait;
  std::vector<int> targets;
};

struct decision {
  std::vector<handled> reactions;  // one an input, in order
  std::vector<output> outputs;
  std::int64_t computed = 0;  // number of elements counted from raw data
  bool failed = false;        // if set, nothing else has effect
};

// The part of the world that an agent can see.
struct surroundings {
  const digd::bench::parameters& parameters;
  const problem& task;
  const draws& chance;
  int agents = 1;
  const std::vector<item>& items;
  const std::vector<std::string>& names;  // of agents, by their number
};

// One activation. `inputs` is the whole buffer of `self`, oldest first. Updates the memory of `self`.
decision act(agent& self, const std::vector<presented>& inputs, const surroundings& about);

}  // namespace digd::bench
