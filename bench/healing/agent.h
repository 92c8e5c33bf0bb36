// A general-purpose agent without a role: what it knows, and what it does in one activation with all that lies in its
// buffer. Deciding is a pure function of the agent, the inputs and the draws; the world (world.h) carries it out.
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

// What an event carries. Its place in the world's list is its number.
struct item {
  std::string id;
  item_kind kind = item_kind::problem;
  range part;              // of a problem or raw data
  solution result;         // of a solution
  int source = none;       // agent
  int reply_to = none;     // author of the problem that this is part of
  bool submitted = false;  // as the answer; then it may have come back
};

// What a text asks beside what its rule always asks (reading.h). Names are as the text has them.
struct request {
  bool count_once = false;           // to count nothing twice
  bool wait = false;                 // for what others work on
  bool not_wait = false;             // but to hand out what is missing
  bool again = false;                // and to do so whenever it would submit too early
  bool only_whole = false;           // to submit only what lacks nothing
  bool anew = false;                 // to put an answer that counts twice together anew
  std::string pass_on_to;            // an answer that lacks more than half
  std::vector<std::string> to;       // whom to hand out to
  std::string reader;                // for whom what follows is; empty: whoever reads it
  std::vector<std::string> take_in;  // events, without working on them
};

// A hint that came with an event, as its reader understands it: which rule speaks, of what, and what it asks.
struct hint {
  rule_id rule{};
  request asks;
  std::string event;  // that the rule fired on; empty for a window
  std::vector<std::string> evidence;
  std::uint64_t number = 0;  // in the run
};

// An event in an agent's buffer.
struct presented {
  int number = 0;  // of the item
  std::vector<hint> hints;
  bool given_back = false;
};

// A result that an agent keeps in mind.
struct held_result {
  std::uint64_t number = 0;  // of the item, or one of its own
  std::string id;            // of the event; empty for its own
  solution result;
};

struct agent {
  int number = 0;
  bool forgetful = false;
  bool only_whole = false;        // told to submit nothing else
  bool again = false;             // told to hand out missing parts whenever it would submit too early
  std::uint64_t activations = 0;  // so far
  std::uint64_t chases = 0;       // how often it handed out missing parts
  std::vector<held_result> memory;
  std::set<std::string> warned;  // results that a hint told it not to count twice
  std::set<int> overflowed;      // raw data that did not fit a call
};

struct output {
  digd::bench::item item;
  std::vector<int> recipients;  // `no_such_agent` among them: a name that does not exist
  bool submit = false;
};
inline constexpr int no_such_agent = -2;

struct handled {
  digd::reaction reaction = reaction::wait;
  std::vector<int> targets;
};

struct decision {
  std::vector<handled> reactions;  // one an input
  std::vector<output> outputs;
  std::int64_t computed = 0;  // elements counted off raw data
  bool failed = false;        // then nothing else counts
};

// What an agent can see of the world.
struct surroundings {
  const digd::bench::parameters& parameters;
  const problem& task;
  const draws& chance;
  int agents = 1;
  const std::vector<item>& items;
  const std::vector<std::string>& names;  // of agents, by number
};

// One activation: `who` learns, and says what it does. `inputs` is its whole buffer, oldest first.
decision act(agent& who, const std::vector<presented>& inputs, const surroundings& about);

}  // namespace digd::bench
