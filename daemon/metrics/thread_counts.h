// The counters of one engine thread, for /metrics.
//
// Threads: its engine thread writes the counters, any thread reads them. Counting is a relaxed load, an addition and a
// relaxed store: no locked instruction, and no cache line that another thread writes. So counting a message costs a few
// nanoseconds. A scrape sums over the threads. A counter never falls from one scrape to the next, but two counters of a
// scrape may be from slightly different moments. Bounds: the number of counters is fixed; there is none for each run or
// agent.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>

#include "model/answer.h"
#include "model/error.h"
#include "model/limit.h"
#include "model/message.h"
#include "model/rule_id.h"

namespace digd::daemon {

class counter {
 public:
  void add(std::uint64_t n = 1) { value_.store(value_.load(std::memory_order_relaxed) + n, std::memory_order_relaxed); }
  std::uint64_t value() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::uint64_t> value_{0};
};

// Durations in fixed buckets: three for each factor of ten from 10 µs to 10 s, and one more that ends at 250 ms, the
// default verdict deadline.
class latency_histogram {
 public:
  static constexpr std::array<std::uint32_t, 20> upper_us{
      10,     20,     50,      100,     200,     500,     1'000,     2'000,     5'000,     10'000,
      20'000, 50'000, 100'000, 200'000, 250'000, 500'000, 1'000'000, 2'000'000, 5'000'000, 10'000'000};
  static constexpr std::size_t buckets = upper_us.size() + 1;  // the last one holds all longer durations

  void record(std::chrono::nanoseconds took) {
    const auto ns = static_cast<std::uint64_t>(took.count() > 0 ? took.count() : 0);
    std::size_t at = 0;
    while (at < upper_us.size() && ns > std::uint64_t{upper_us[at]} * 1'000) ++at;
    counts_[at].add();
    sum_ns_.add(ns);
  }
  std::uint64_t count(std::size_t bucket) const { return counts_[bucket].value(); }
  std::uint64_t sum_ns() const { return sum_ns_.value(); }

 private:
  std::array<counter, buckets> counts_;
  counter sum_ns_;
};

// Counters by the values of an enumeration. `last` is its last value.
template <class Enum, Enum last>
class counters_by {
 public:
  static constexpr std::size_t size() { return static_cast<std::size_t>(last) + 1; }
  counter& operator[](Enum value) { return counters_[static_cast<std::size_t>(value)]; }
  const counter& operator[](Enum value) const { return counters_[static_cast<std::size_t>(value)]; }

 private:
  std::array<counter, size()> counters_;
};

struct http_counts {
  counter requests;  // answered
  counter errors;    // those answered with 4xx or 5xx
};

struct alignas(64) thread_counts {
  counters_by<message_type, message_type::usage> messages;  // accepted
  counters_by<refusal, refusal::hold_closed> refusals;
  counter firings;  // of windows, without a message
  counters_by<action, action::cancel> verdicts;
  latency_histogram verdict_latency;  // from reading the frame to queueing its verdicts for the socket
  std::array<std::array<counter, 2>, rule_count> detections;  // [rule][healed]
  counters_by<cause, cause::ended> causes;                    // why a detection was not healed
  counters_by<action, action::cancel> interventions;
  std::array<counters_by<outcome_kind, outcome_kind::unresolved>, rule_count> outcomes;

  counter sessions_opened, sessions_closed;  // the difference is those open
  counter credits_paused;                    // times digd paused reading a connection without credits
  counter rate_paused;                       // times digd paused reading a connection over its token's rate
  counter quiet_sessions, idle_connections;  // closed: no message for too long; nothing at all, not even a pong
  counters_by<limit_id, limit_id::fleet_lease> limits;  // times that a limit was hit, by limit
  counter slow_clients;                                 // closed: they read too slowly
  counter runs_loaded, runs_unloaded;                   // the difference is those in memory
  counter runs_opened, runs_ended, runs_deleted, runs_refused, runs_of_token_refused;
  http_counts http;
  counter held_messages;    // messages that waited for another session's ids
  counter judging_resumed;  // runs that are judged again after a limit

  void take(const digd::answer& answer);
};

}  // namespace digd::daemon
