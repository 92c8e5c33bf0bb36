// Signed links to held events, for people whom a webhook notifies of a hold (docs/webhooks.md).
//
// A link grants the right to decide about one hold, once. It names the archive, the run, the hold, the event, the
// webhook and its expiry time, and ends with the HMAC-SHA256 of these. The key is a file in the data directory that
// only its owner can read; removing the file invalidates all links. A link is valid only while its webhook sends links.
//
// Threads: one thread at a time calls `open`; any thread may call the rest. Failure: `open` returns a sentence; nothing
// throws. Bounds: `read` takes links of at most `max_link_bytes`.
#pragma once

#include <cstdint>
#include <mutex>
#include <set>
#include <string>
#include <string_view>

namespace digd::daemon {

struct hold_link {
  std::string webhook;
  std::string run;
  std::uint64_t run_number = 0;
  std::uint64_t hold = 0;
  std::string event;
  std::int64_t expires_ms = 0;  // Unix
};

class hold_links {
 public:
  static constexpr std::int64_t valid_ms = 7LL * 24 * 3600 * 1000;  // as long as a hold may last
  static constexpr std::size_t max_link_bytes = 8 * 1024;
  static constexpr std::string_view page_path = "/hold";

  enum class state : std::uint8_t { valid, expired, revoked, forged };

  // Reads the key from `key_path`, or creates the file. Returns a problem in words; otherwise an empty string.
  std::string open(const std::string& key_path);
  // The random name of the archive. Links of another archive are forged.
  void set_archive(std::string name);

  // The webhooks that send links. `read` reports links of other webhooks as revoked.
  void set_webhooks(std::set<std::string> names);

  // "/hold?link=…"
  std::string path_of(const hold_link& link) const;
  state read(std::string_view text, std::int64_t now_ms, hold_link& into) const;

 private:
  std::string signature_of(std::string_view fields) const;  // empty without a key

  mutable std::mutex mutex_;  // guards the following
  std::string key_, archive_;
  std::set<std::string> webhooks_;
};

}  // namespace digd::daemon
