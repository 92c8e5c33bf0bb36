// The model of a run's picture: a lane for each agent, and rows in order of time. There is a row for each start and end
// of an activation, event, reroute, remedy of digd, firing of a window, and note.
//
// A `recorder` builds it from a replay; then it is plain data for `terminal.h`, `svg.h` and `dot.h`. Names and texts
// are unescaped: the drawing code escapes them. Thread: one. Bounds: `max_rows`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ingest/protocol/replay.h"
#include "model/answer.h"
#include "model/message.h"

namespace digd::picture {

using index = std::uint32_t;
inline constexpr index none = std::numeric_limits<index>::max();

// The state of an event given to an agent; `taken` while the activation that has it is open.
enum class fate : std::uint8_t { pending, taken, consumed, waiting, discarded, rerouted, lost, withdrawn, unknown };

// Whether the delivery advances the work (DIG to Heal, 4.2). Pictures draw such an edge solid, others dashed.
constexpr bool productive(fate given_fate) {
  return given_fate == fate::pending || given_fate == fate::taken || given_fate == fate::consumed;
}

struct lane {
  std::string name;
  bool member = false;  // was in the roster at some time
  bool acted = false;
};

struct event {
  std::string id;
  std::string kind;         // empty: none
  std::string text;         // the beginning of its payload's words; empty: none
  index source = none;      // activation
  index row = none;         // where it was announced
  bool submit = false;      // announced as the answer
  bool given_back = false;  // and sent back by the monitor
  bool fyi = false;
  bool system = false;
  bool placeholder = false;     // never announced
  std::vector<index> findings;  // where a rule fired on it
  std::vector<index> evidence;  // where a rule names it
};

struct input {
  index event = none;
  digd::reaction reaction = reaction::none;  // none while open, or failed
  index row = none;                          // the row that gave the event to the agent; none: it was never given
};

struct activation {
  std::string id;
  index lane = none;
  milliseconds started = 0, ended = 0;
  index first_row = none, last_row = none;  // its start; its end, or its last row so far
  bool open = true;
  bool failed = false;
  bool stalled = false;
  std::vector<input> inputs;
  std::vector<index> outputs;
  bool generating() const { return outputs.size() > inputs.size(); }  // problem-generating, else reducing
};

struct transfer {
  index lane = none;
  digd::picture::fate fate = fate::pending;
  bool by_monitor = false;      // its verdict or remedy
  std::vector<index> taken_by;  // activations that had it as an input since
};

enum class row_kind : std::uint8_t {
  start,
  end,
  event,    // announced: root event, output
  reroute,  // by an activation
  remedy,   // the monitor's own: a system event, or an event given to an agent again
  firing,   // a window's findings that led to no remedy
  note,     // other lines: joined, left, gap, refused, run ended
};

// A `problem`: a refused message, a gap, or a verdict that the client did not apply.
enum class note_kind : std::uint8_t { change, problem };

struct row {
  row_kind kind = row_kind::note;
  milliseconds ts = 0;
  std::uint64_t seq = 0;    // 0: of a window
  index activation = none;  // start, end, reroute; event: its source
  index event = none;
  index lane = none;  // note: whom it is about
  std::vector<transfer> to;
  bool injected = false;  // the monitor's text goes with it
  std::vector<index> findings;
  note_kind note = note_kind::change;
  std::string text;  // note
};

struct model {
  std::string run;
  std::string mode;
  std::vector<lane> lanes;  // in the order in which they were named
  std::vector<event> events;
  std::vector<activation> activations;
  std::vector<row> rows;
  std::vector<detection> findings;  // without their witnesses
  std::size_t healed = 0;
  bool cut = false;  // there was more than `max_rows`

  index find_lane(std::string_view name) const;
  index find_event(std::string_view id) const;  // the last of that id
};

class recorder {
 public:
  static constexpr std::size_t max_rows = 1'000'000;
  // A part of a long run. Nothing that began before it is drawn; an event that was announced before it is a
  // placeholder.
  struct window {
    std::uint64_t first_line = 1;
    std::size_t max_rows = recorder::max_rows;
  };

  explicit recorder(const run_policy& policy = {}, const window& part = {1, max_rows});
  ~recorder();

  // Takes one line of the trace. False: the trace cannot be replayed (`problem`), or the limit is reached
  // (`model::cut`).
  bool line(std::string_view text);
  const std::string& problem() const;
  model finish();

 private:
  class builder;
  std::unique_ptr<builder> builder_;
  ingest::replay replay_;
};

std::string_view code_of(rule_id rule);  // the paper's: ET, OE, …
std::string_view to_string(fate);

}  // namespace digd::picture
