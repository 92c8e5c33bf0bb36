// The turns of a run: the spans in which an agent acts, the callers of turns, and their causes. Plain values that point
// into spans, which the caller keeps alive.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "ingest/otlp/dialect.h"
#include "ingest/otlp/span.h"

namespace digd::otlp {

inline constexpr std::int64_t ns_a_ms = 1'000'000;         // spans have nanoseconds, messages milliseconds
inline constexpr std::size_t max_call_depth = 64;          // levels of calls; a deeper agent is part of its caller
inline constexpr std::size_t max_steps_back = 1'000;       // spans visited to find the cause of a turn
inline constexpr std::size_t max_links_back = 1'000;       // links and parents looked up for that
inline constexpr std::size_t max_causes = 100;             // turns that one turn counts as having read from: the latest
inline constexpr std::size_t max_linked_causes = 200'000;  // causes that links state, in one run

struct turn {
  const span* of = nullptr;
  const dialect* in = nullptr;
  std::string agent;                      // as the span says
  std::size_t caller = none;              // the turn it was called by
  std::size_t depth = 0;                  // of calls
  std::vector<std::size_t> calls;         // the turns it called, by their start
  std::int64_t start_ns = 0, end_ns = 0;  // end is after start
  const span* input = nullptr;            // where its texts are; null: nowhere
  const span* output = nullptr;
  std::vector<const span*> models, tools;  // spans in it
  bool failed = false;                     // as its dialect understands its span's status
  bool cancelled = false;
};

// A turn read the output of another turn.
struct passing {
  std::size_t from = none, to = none;
  const span* by = nullptr;  // the span in `from` that represents the output: a message, a handoff, or the turn itself
  bool stated = false;       // by links or a handoff; else inferred from times
};
// A turn sent something, and the spans state that no agent received it or acted on it.
struct loss {
  std::size_t from = none;
  const span* by = nullptr;
  std::string named;  // the agent it was for; empty: nobody
};

struct run_of_turns {
  std::vector<turn> turns;        // by start, end, span id
  std::vector<passing> passings;  // by `to`, then `from`
  std::vector<loss> losses;
  std::size_t roots = 0;     // spans without a parent
  bool root_failed = false;  // one of them failed
  bool root_cancelled = false;
  bool whole = true;  // every parent that a span names is here
  std::int64_t first_ns = 0, last_ns = 0;
};

}  // namespace digd::otlp
