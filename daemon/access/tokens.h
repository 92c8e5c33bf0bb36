// Access is controlled by bearer tokens. A TOML file lists each token's SHA-256, rights and runs.
//
//   [[token]]
//   name   = "fleet"             # for logs; digd never stores the token itself
//   sha256 = "9f86d0…"           # of the token's bytes, 64 hex digits
//   rights = ["ingest"]          # ingest, watch, read, operate
//   runs   = ["prod-"]           # prefixes of the run ids that it covers; omitted: all runs
//   rate   = 1000                # messages and hellos a second over all its connections; omitted: no limit
//
// digd reads the file at the start and on SIGHUP. The connections of a removed token end with their next frame.
// Ownership: connections share a token's grant with the table. Threads: a table is constant; a grant's `rate` and
// `is_revoked` are for any thread. Bounds: `max_tokens`, `max_bytes`. Failure: a sentence with file, line and column.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace digd::daemon {

enum class right : std::uint8_t {
  none,     // the request needs no token
  ingest,   // send messages and spans
  watch,    // read the feed
  read,     // read the archive, metrics, readiness
  operate,  // delete runs, set the operator's switch
};
std::string_view to_string(right right);
std::optional<right> right_from(std::string_view name);

// Limits the messages of a token: an even rate, with a burst of one second's worth. It is the generic cell rate
// algorithm (ITU-T I.371). Any thread.
class message_rate {
 public:
  explicit message_rate(std::uint64_t a_second) : between_(a_second == 0 ? 0 : 1'000'000'000 / a_second) {}
  // Counts one message. Returns how long to wait before reading the next one.
  std::chrono::nanoseconds take(std::chrono::steady_clock::time_point now);

 private:
  static constexpr std::int64_t burst_ns = 1'000'000'000;
  const std::uint64_t between_;       // nanoseconds; 0: no limit
  std::atomic<std::int64_t> due_{0};  // when the messages so far would have arrived at the even rate
};

// The rights, runs and rate of one token.
class grant {
 public:
  grant(std::string name, std::vector<right> rights, std::vector<std::string> runs, std::uint64_t rate)
      : name_(std::move(name)), rights_(std::move(rights)), runs_(std::move(runs)), rate_a_second_(rate), rate_(rate) {}

  const std::string& name() const { return name_; }
  bool may(right right) const;
  bool covers(std::string_view run) const;
  bool covers_all_runs() const { return runs_.empty(); }
  bool is_revoked() const { return revoked_.load(std::memory_order_relaxed); }
  message_rate& rate() const { return rate_; }

 private:
  friend class token_table;
  bool is_equal(const grant& other) const;  // without the state of the rate

  const std::string name_;
  const std::vector<right> rights_;
  const std::vector<std::string> runs_;  // prefixes
  const std::uint64_t rate_a_second_;
  mutable message_rate rate_;
  mutable std::atomic<bool> revoked_{false};
};
// Null if no tokens are configured: every request is then allowed.
using grant_ptr = std::shared_ptr<const grant>;

class token_table {
 public:
  static constexpr std::size_t max_tokens = 10'000, max_bytes = 8u << 20;
  using digest = std::array<unsigned char, 32>;

  // Both return a problem as "file:line:column: problem", otherwise an empty string.
  static std::string read(const std::string& file, token_table& into);
  static std::string parse(std::string_view text, std::string_view file, token_table& into);

  // Null for an unknown token. Compares in constant time: the time does not depend on the token.
  grant_ptr find(std::string_view token) const;
  std::size_t size() const { return entries_.size(); }
  // After a reload: keeps the unchanged grants of `before` with the state of their rate, and revokes its other grants.
  void succeed(const token_table& before);

 private:
  struct entry {
    digest hash{};
    grant_ptr granted;
  };
  std::vector<entry> entries_;
};

}  // namespace digd::daemon
