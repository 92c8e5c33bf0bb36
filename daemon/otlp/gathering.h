// Gathers the spans of runs that have not ended, until there are messages to send.
//
// A table without I/O or clock: callers pass the time (Unix milliseconds) and ask for the run that is due. One thread.
// Bounds: `spans` and `held_bytes` over all runs, `run_spans` a run, `max_past` ended traces remembered. The table
// drops and counts a span that it holds already, and rejects one of a run that has ended.
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
  std::uint64_t number = 0;         // in the order in which they were first heard of
  std::int64_t due_ms = 0;          // the table's
  std::string id;                   // of the run; fixed once something was sent
  std::vector<std::string> traces;  // sorted
  std::vector<otlp::span> spans;
  boost::unordered_flat_set<std::string> known;  // spans, by trace and id
  std::vector<std::int64_t> batches;             // sorted
  std::int64_t first_ms = 0;                     // when the first span came that was not sent
  std::int64_t last_ms = 0;                      // when the last came
  bool looked_at = false;                        // since the last span came
  bool unsent = true;                            // spans have come since messages were sent
  bool complete = false;                         // it was sent as a complete set of spans
  bool ending = false;                           // `run_ended` was sent
  std::string outcome;                           // of the messages sent so far
  std::uint64_t seq = 0;                         // of the last message sent
  otlp::sent_messages sent;
};

class gathering {
 public:
  static constexpr std::size_t max_past = 10'000;

  explicit gathering(const otlp_settings& settings) : settings_(settings) {}

  struct taken {
    std::size_t accepted = 0, duplicate = 0, late = 0, over = 0;
    bool needed = false;  // the batch holds a span of some run
  };
  // Room for a batch of so many bytes; else the caller is to end `oldest` first.
  bool has_room(std::size_t bytes) const { return spans_ < settings_.spans && bytes_ + bytes <= settings_.held_bytes; }
  gathered_run* oldest();
  taken add(std::vector<otlp::span>&& spans, std::int64_t batch, std::size_t bytes, std::int64_t now_ms);

  // A run with messages from before a restart: from now on these traces belong to it.
  gathered_run& adopt(const std::string& run, const std::string& trace, std::int64_t now_ms);

  // The run whose time has come, and when the next one's comes.
  gathered_run* due(std::int64_t now_ms);
  std::optional<std::int64_t> next_due() const;
  gathered_run* find(const std::string& run);
  // The caller has sent its messages, or looked and found that it is too early.
  void changed(gathered_run& run);

  // Removes a run that is over and archived, or has no agents. Returns the batches that no run needs any more.
  std::vector<std::int64_t> remove(gathered_run& run, bool remember);

  std::size_t runs() const { return runs_.size(); }
  std::size_t spans() const { return spans_; }
  std::uint64_t bytes() const { return bytes_; }
  std::uint64_t unmergeable() const { return unmergeable_; }  // runs found to be one after messages of both were sent

 private:
  struct batch_use {
    std::size_t runs = 0;
    std::size_t bytes = 0;
  };
  gathered_run& run_of(const std::string& trace, std::int64_t now_ms);
  void tie(const std::string& a, const std::string& b, std::int64_t now_ms);
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
