// A general-purpose agent without a role: its knowledge, and its decision in one activation with everything in its
// buffer.
//
// An agent knows only what it has seen: the labels of results, the parts that it handed out, the texts that it read. It
// never sees which elements a result truly counts, and it may misjudge whether its results are complete.
//
// A decision is a pure function of the agent, the inputs and the random draws; the world (world.h) carries it out.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "bench/healing/draws.h"
#include "bench/healing/parameters.h"
#include "bench/healing/problem.h"
#include "model/message.h"

namespace digd::bench {

inline constexpr int none = -1;

enum class item_kind : std::uint8_t { problem, raw, solution, request, notice };
std::string_view to_string(item_kind);

// The content of an event. Its index in the world's list is its number.
struct item {
  std::string id;
  item_kind kind = item_kind::problem;
  range part;              // for a problem or raw data
  solution result;         // for a solution; `result.counted` is the truth, which only the score reads
  cover label;             // for a solution: the elements that its author says it counts
  bool vague = false;      // it came without its label
  int source = none;       // agent
  int reply_to = none;     // author of the problem that this belongs to
  bool submitted = false;  // it was submitted as the answer; a monitor may have given it back
};

// The forms of an intervention. A reader reacts to the form and to the names in the text, to nothing else.
enum class form : std::uint8_t {
  answer_returned,  // its own answer came back with a text
  event_returned,   // another event of its own came back with a text
  note,             // a text came with an event
  notice            // a text came alone
};
inline constexpr std::size_t form_count = 4;

// A text as its reader sees it.
struct hint {
  digd::bench::form form = form::note;
  std::vector<std::string> names;  // the quoted names in the text, in order
  std::uint64_t number = 0;        // of the hint, in the run
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
  cover label;
  bool vague = false;
};

// A part that an agent gave to another.
struct handed_part {
  range part;
  int to = none;
};

struct agent {
  int number = 0;
  bool forgetful = false;
  std::uint64_t activations = 0;  // number of activations so far
  std::uint64_t chases = 0;       // number of times it handed out gaps
  std::vector<held_result> memory;
  std::vector<handed_part> handed;
  std::set<int> overflowed;                             // items with raw data that did not fit into a call
  std::map<std::uint64_t, bool> follows;                // by hint: whether it follows it
  std::array<std::uint64_t, form_count> read_before{};  // texts read, by form
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
  std::uint64_t texts_read = 0, texts_followed = 0;
  bool failed = false;  // if set, nothing else has effect
};

// The part of the world that an agent can see.
struct surroundings {
  const digd::bench::parameters& parameters;
  const problem& task;
  const draws& chance;
  int agents = 1;
  const std::vector<item>& items;
  const std::vector<std::string>& names;          // of agents, by their number
  const std::map<std::string, int>& items_by_id;  // to tell names of events from other names
};

// One activation (turn.cpp). `inputs` is the whole buffer of `self`, oldest first. Updates the memory of `self`.
decision act(agent& self, const std::vector<presented>& inputs, const surroundings& about);

}  // namespace digd::bench
