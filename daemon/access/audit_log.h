// Logs each HTTP request that changes something, and each refused token: who sent it, from where, with what result.
// Each request is a line of JSON in `audit.jsonl` in the data folder, mode 0600.
//
//   {"at_ms":1700000000000,"action":"PUT /v1/mode","by":"ops","from":"192.0.2.1","status":200,"body":"{\"mode\":…}"}
//
// Threads: any; a thread of its own writes, so that no caller waits for the disk. Bounds: `max_waiting` lines wait;
// beyond that the oldest is dropped and counted. The five latest files of 8 MiB are kept. Texts are cut at
// `max_text_bytes`. Lines about refused requests have at most `max_refusal_bytes` an hour, so that a peer without
// rights cannot displace the other lines. Failure: a line that cannot be written is dropped, and the daemon's log has
// the reason.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

namespace digd::daemon {

struct audited_request {
  std::string action;  // method and path
  std::string by;      // the name of the token; empty: none
  std::string from;    // the peer
  std::string body;
  std::string problem;           // of a refusal
  std::uint64_t suppressed = 0;  // refusals before this one that were not written
};

class audit_log {
 public:
  static constexpr std::size_t max_waiting = 1'024, max_text_bytes = 512;
  static constexpr std::size_t max_refusal_bytes = 64 << 10;  // in an hour

  // `folder`: where `audit.jsonl` is. If it is empty, the log writes nothing.
  explicit audit_log(const std::string& folder);
  // Waits up to a second until all lines are written.
  ~audit_log();
  audit_log(const audit_log&) = delete;
  audit_log& operator=(const audit_log&) = delete;

  void write(const audited_request& request, unsigned status);
  // For a request without the right that it needs. Beyond `max_refusal_bytes` an hour it writes nothing; the next line
  // about a refusal then says how many were left out.
  void write_refusal(audited_request request, unsigned status);
  std::uint64_t dropped() const;

 private:
  struct parts;
  void write_line(const std::string& line);

  parts* parts_ = nullptr;  // never destroyed while the disk hangs: its destructor would wait for it
  std::mutex mutex_;        // guards the following
  std::chrono::steady_clock::time_point hour_began_{};
  std::size_t refusal_bytes_ = 0;  // in this hour
  std::uint64_t suppressed_ = 0;   // refusals since the last one that was written
};

}  // namespace digd::daemon
