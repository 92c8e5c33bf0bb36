// Collects the spans of each run until the server can send messages made from them.
//
// A table without I/O or clock. The caller passes the time (milliseconds of a clock that is never set), and asks which
// run is due.
//
// Thread: the spans'. Ownership: the table owns its runs; a pointer to one is valid until the next `add` or `remove`.
// Bounds: `spans` and `held_bytes` over all runs; `run_spans`, `max_run_traces` and `max_run_links` for each run;
// `max_past` ended traces. Failure: it counts the spans that it does not accept, which are duplicates, spans of ended
// runs and spans over `run_spans`; and the links that it drops.
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <boost/unordered/unordered_flat_set.hpp>
#include <boost/unordered/unordered_map.hpp>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "daemon/settings/config.h"
#include "ingest/otlp/sent_messages.h"
#include "ingest/otlp/span.h"

namespace digd::daemon {

struct gathered_run {
  std::uint64_t number = 0;         // rises with each new run
  std::int64_t due_ms = 0;          // the table sets it
  std::string id;                   // fixed once a message was sent
  std::vector<std::string> traces;  // each once, in no order
  std::vector<otlp::span> spans;
  std::size_t links = 0;                         // of the spans
  boost::unordered_flat_set<std::string> known;  // trace id and span id of each span
  std::vector<std::int64_t> batches;             // sorted
  std::int64_t first_ms = 0;                     // arrival of the first span whose messages are not sent yet
  std::int64_t last_ms = 0;                      // arrival of the last span
  bool is_examined = false;                      // the server examined it since the last span
  bool unsent = true;                            // spans arrived since the last messages were sent
  bool complete = false;                         // its messages were made from a complete set of spans
  bool ending = false;                           // `run_ended` was sent
  std::string outcome;                           // known from the spans sent so far
  std::uint64_t seq = 0;                         // the last message sent
  otlp::sent_messages sent;
};

class gathering {
 public:
  static constexpr std::size_t max_past = 10'000;
  static constexpr std::size_t max_run_traces = 10'000;  // also traces that are only linked to
  static constexpr std::size_t max_run_links = 100'000;

  explicit gathering(const otlp_settings& settings) : settings_(settings) {}

  struct taken {
    std::size_t accepted = 0, duplicate = 0, late = 0, over = 0;
    std::size_t dropped_links = 0;
    bool needed = false;  // a run uses a span of this batch, so the spool must keep it
  };
  // Whether a batch of this size fits. If not, the caller first ends the `oldest` run.
  bool has_room(std::size_t bytes) const { return spans_ < settings_.spans && bytes_ + bytes <= settings_.held_bytes; }
  // The run that the table has had longest. Null: there is none, or it is ending and soon makes room.
  gathered_run* oldest();
  taken add(std::vector<otlp::span>&& spans, std::int64_t batch, std::size_t bytes, std::int64_t now_ms);
  // As `add`, for a batch that was accepted before a restart: `run_spans` may have been larger then.
  taken restore(std::vector<otlp::span>&& spans, std::int64_t batch, std::size_t bytes, std::int64_t now_ms);

  // Adds a trace to a run that had messages before a restart, and the run if it is new.
  gathered_run& adopt(const std::string& run, const std::string& trace, std::int64_t now_ms);

  // A run whose time has come, or null; and the time at which the next run is due.
  gathered_run* due(std::int64_t now_ms);
  std::optional<std::int64_t> next_due() const;
  gathered_run* find(const std::string& run);
  // Call after changing a run's fields: computes again when the run is due.
  void changed(gathered_run& run);

  // Removes a run and returns the batches that no other run uses. `remember`: later spans of its traces are late.
  std::vector<std::int64_t> remove(gathered_run& run, bool remember);

  std::size_t runs() const { return runs_.size(); }
  std::size_t spans() const { return spans_; }
  std::uint64_t bytes() const { return bytes_; }
  // How often two runs turned out to be parts of one run and could not be merged: messages of both had been sent, one
  // of them was ending, or together they would have too many spans.
  std::uint64_t unmergeable() const { return unmergeable_; }

 private:
  struct batch_use {
    std::size_t runs = 0;
    std::size_t bytes = 0;
  };
  taken take(std::vector<otlp::span>&& spans, std::int64_t batch, std::size_t bytes, std::int64_t now_ms,
             std::size_t max_run_spans);
  gathered_run& run_of(const std::string& trace, std::int64_t now_ms);
  bool tie(gathered_run& first, const std::string& other);
  void merge(gathered_run& into, gathered_run& from);
  void use_batch(gathered_run& run, std::int64_t batch);
  std::int64_t due_at(const gathered_run& run) const;

  const otlp_settings settings_;
  std::map<std::uint64_t, gathered_run> runs_;
  std::set<std::pair<std::int64_t, std::uint64_t>> by_due_;
  std::uint64_t last_number_ = 0;
  boost::unordered_flat_map<std::string, gathered_run*> by_trace_;
  boost::unordered_map<std::int64_t, batch_use> batches_;
  boost::unordered_flat_set<std::string> past_;
  std::deque<std::string> past_order_;
  std::size_t spans_ = 0;
  std::uint64_t bytes_ = 0, unmergeable_ = 0;
};

}  // namespace digd::daemon
