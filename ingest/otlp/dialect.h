// The dialects of spans that digd understands: one table for each dialect and version, in dialects/*.inc, listed in
// dialects.inc.
//
// A table is data. It defines how to recognise a span of the dialect, and which role a span has in the run. It names
// the attributes with the span's agent, its texts and its relations to other spans. The code knows roles, not
// frameworks. Constant data; any thread.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "ingest/otlp/span.h"

namespace digd::otlp {

// The role of a span in a run.
enum class role : std::uint8_t {
  none,      // not part of the run: skipped, so its children count as children of its parent
  workflow,  // encloses a run or a part of it: skipped, but shows that the trace has agents
  node,      // an agent's turn, as a node of a graph; an `agent` span directly beneath is the same turn
  agent,     // an agent's turn; if it is beneath another turn, that turn called it
  model,     // a call of a language model: part of the turn it is in
  tool,      // a call of a tool: likewise
  handoff,   // a turn passes the work on, to an agent it names
  message,   // a turn sends something; turns that link to this span received it
  route,     // the transport of a message: shows whether any agent received it
};
std::string_view to_string(role);

// A test on one span.
enum class test : std::uint8_t {
  always,        // ends a list of conditions
  scope,         // the instrumentation's name begins with `value`
  name,          // the span's name begins with `value`
  has,           // the attribute `key` exists
  lacks,         // it does not
  equals,        // its text is `value`
  differs,       // its text is not `value`, or it does not exist
  same_as,       // its text is that of the attribute `value`
  is_span_name,  // its text is the span's name
};
struct condition {
  test kind = test::always;
  std::string_view key, value;
};

struct role_row {
  role gives = role::none;
  std::array<condition, 3> when{};  // all of them hold
};

// A key `a/b` is the member `b` of the attribute `a`, which holds a JSON object as text.
using key_list = std::array<std::string_view, 4>;  // the first that exists counts

struct dialect {
  std::string_view name, version;
  std::string_view about;                   // whose spans these are, for docs
  std::array<condition, 2> conditions{};    // all of them hold
  std::array<role_row, 12> roles{};         // the first that fits counts
  key_list agent{};                         // the name of a turn's agent
  std::string_view agent_in_name;           // else: the span's name behind this prefix
  key_list input{}, output{};               // texts
  std::string_view handed_to;               // of a `handoff`: the agent's name
  std::array<condition, 3> lost_if{};       // of a `route`: it gave its message to nobody by mistake, if all hold
  std::array<condition, 3> passes_on_if{};  // a failed span that meets one of these passed control on and did not fail
  // Attribute: turns with the same parent and the same value of it ran at once, whatever their times.
  std::string_view step;
  std::string_view conversation;    // an id that becomes a label
  bool linked = false;              // its links state who received a message: times are not consulted
  bool calls_within_tools = false;  // an agent called by a tool lies within the tool's time, not beneath its span
};

// All dialects, the most specific first.
std::span<const dialect> dialects();

// The first dialect that recognises the span; null: none.
const dialect* dialect_of(const span& s);
role role_of(const dialect& d, const span& s);

// An attribute as text: strings as they are, numbers and booleans written out; nothing if there is none or it is a
// list.
std::optional<std::string> text_of(const span& s, std::string_view key);
std::optional<std::string> first_of(const span& s, const key_list& keys);

inline constexpr std::string_view error_type_key = "error.type";
// Whether the span was cancelled: its result was no longer needed.
bool was_cancelled(const span& s);
// Whether the span failed, by the rules of its dialect. A cancelled span did not fail. `in` may be null.
bool has_failed(const dialect* in, const span& s);
// Whether a `route` of this dialect lost its message by mistake. A route that its author closed on purpose did not.
bool has_lost(const dialect& in, const span& route);

}  // namespace digd::otlp
