// Access is controlled by bearer tokens. A TOML file lists each token's SHA-256, rights and runs.
//
//   [[token]]
//   name   = "fleet"             # for logs; digd never stores the token itself
//   sha256 = "9f86d0…"           # of the token's bytes, 64 hex digits
//   rights = ["ingest"]          # ingest, watch, read, operate
//   runs   = ["prod-"]           # prefixes of the run ids that it covers; omitted: all runs
//
// Its limits, over all its connections; omitted: none.
//
//   rate            = 1000       # messages and hellos a second
//   byte_rate       = 1000000    # bytes of them a second
//   max_connections = 10         # WebSockets open at once: sessions, and readers of the feed
//   max_runs        = 100        # runs that it opened since digd started and that have not ended
//   max_bytes       = 1000000000 # bytes in the archive of all runs that it opened, approximately
//
// digd reads the file at the start and on SIGHUP. The connections of a removed token end with their next frame.
// Ownership: connections share a token's grant with the table. Threads: a table is constant; a grant's rates, counts
// and `is_revoked` are for any thread. Bounds: `max_tokens`, `max_bytes`. Failure: a sentence with file, line and
// column.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ticket.h"
#include "daemon/access/even_rate.h"
#include "daemon/access/memory_budget.h"

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

// 0: no limit.
struct token_limits {
  std::uint64_t rate = 0, byte_rate = 0, max_connections = 0, max_runs = 0, max_bytes = 0;
  bool operator==(const token_limits&) const = default;
};

// The `max_bytes` of the tokens that have one, by their names.
using byte_limits = std::map<std::string, std::uint64_t>;

// The rights, runs and limits of one token, and what counts towards the limits.
class grant {
 public:
  grant(std::string name, std::vector<right> rights, std::vector<std::string> runs, const token_limits& limits)
      : name_(std::move(name)),
        rights_(std::move(rights)),
        runs_(std::move(runs)),
        limits_(limits),
        rate_(limits.rate),
        byte_rate_(limits.byte_rate),
        memory_(std::make_shared<memory_account>(name_)) {}

  const std::string& name() const { return name_; }
  bool may(right right) const;
  bool covers(std::string_view run) const;
  bool covers_all_runs() const { return runs_.empty(); }
  std::uint64_t max_bytes() const { return limits_.max_bytes; }  // `overload` enforces it; 0: no limit
  bool is_revoked() const { return revoked_.load(std::memory_order_relaxed); }
  // Counts a message of so many bytes. Returns how long to wait before reading the next one.
  std::chrono::nanoseconds take(std::chrono::steady_clock::time_point now, std::size_t bytes) const;

  const account_ptr& memory() const { return memory_; }  // of its connections

  // Null: the token has reached its limit.
  ticket_ptr take_connection() const { return take(connections_, limits_.max_connections); }
  ticket_ptr take_run() const { return take(open_runs_, limits_.max_runs); }

 private:
  friend class token_table;
  bool is_equal(const grant& other) const;  // without what is counted
  // A count may outlive its token: a run stays open, and counted, after a reload has removed the token.
  using count_ptr = std::shared_ptr<std::atomic<std::uint64_t>>;
  static ticket_ptr take(const count_ptr& count, std::uint64_t max_count);

  const std::string name_;
  const std::vector<right> rights_;
  const std::vector<std::string> runs_;  // prefixes of run ids
  const token_limits limits_;
  mutable even_rate rate_, byte_rate_;
  const account_ptr memory_;
  const count_ptr connections_ = std::make_shared<std::atomic<std::uint64_t>>(0);
  const count_ptr open_runs_ = std::make_shared<std::atomic<std::uint64_t>>(0);
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
  byte_limits byte_limits_of_tokens() const;
  // Called after a reload: keeps the unchanged grants of `before` with their counts, and revokes its other grants.
  void succeed(const token_table& before);

 private:
  struct entry {
    digest hash{};
    grant_ptr granted;
  };
  std::vector<entry> entries_;
};

}  // namespace digd::daemon
