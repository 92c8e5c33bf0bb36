// Who may do what: bearer tokens, of which a file names the SHA-256, the rights and the runs.
//
//   [[token]]
//   name   = "fleet"             # for logs; the token itself is nowhere
//   sha256 = "9f86d0…"           # of the token's bytes, 64 hex digits
//   rights = ["ingest"]          # ingest, watch, read, operate
//   runs   = ["prod-"]           # the run's id begins with one of these; left out: all runs
//   rate   = 1000                # messages and hellos a second over all its connections; left out: no limit
//
// The table is read at the start and on SIGHUP. Connections of a token that is gone end with their next frame.
// Threads: a table is constant; a grant's `rate` and `revoked` are for any thread. Bounds: `most_tokens`, `most_bytes`.
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
  none,     // anybody may
  ingest,   // tell what agents do
  watch,    // the feed
  read,     // the archive, metrics, readiness
  operate,  // delete, switch
};
std::string_view to_string(right right);
std::optional<right> right_from(std::string_view name);

// So many messages a second, with a second's worth at once: the generic cell rate algorithm. Any thread.
class message_rate {
 public:
  explicit message_rate(std::uint64_t a_second) : between_(a_second == 0 ? 0 : 1'000'000'000 / a_second) {}
  // Counts one message. How long to wait before the next; zero: not at all.
  std::chrono::nanoseconds take(std::chrono::steady_clock::time_point now);

 private:
  static constexpr std::int64_t burst_ns = 1'000'000'000;
  const std::uint64_t between_;       // nanoseconds; 0: no limit
  std::atomic<std::int64_t> due_{0};  // when all that was taken would have come at an even pace
};

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
  bool says_the_same(const grant& other) const;

  const std::string name_;
  const std::vector<right> rights_;
  const std::vector<std::string> runs_;  // prefixes
  const std::uint64_t rate_a_second_;
  mutable message_rate rate_;
  mutable std::atomic<bool> revoked_{false};
};
// Null where no tokens are configured: then everything is allowed.
using grant_ptr = std::shared_ptr<const grant>;

class token_table {
 public:
  static constexpr std::size_t most_tokens = 10'000, most_bytes = 8u << 20;
  using digest = std::array<unsigned char, 32>;

  // What is wrong comes back in words, "file:line:column: what"; empty if nothing is.
  static std::string read(const std::string& file, token_table& into);
  static std::string parse(std::string_view text, std::string_view file, token_table& into);

  // Takes as long whatever the token is. Null: no such token.
  grant_ptr find(std::string_view token) const;
  std::size_t size() const { return entries_.size(); }
  // Grants that `before` has alike are taken over, with their rate as it stands; its others are revoked.
  void succeed(const token_table& before);

 private:
  struct entry {
    digest hash{};
    digd::daemon::grant_ptr grant_ptr;
  };
  std::vector<entry> entries_;
};

}  // namespace digd::daemon
