// Decides how much of a payload the archive keeps, and redacts it first.
//
//   full     the payload as sent
//   digest   {"sha256":"…","bytes":N}: equal payloads still have equal digests
//   none     no payload
//
// digd applies the policy to a frame before the frame goes to the archive. Feed, reports and webhooks read the archive,
// so they never see more than that. Rules never read payloads, so verdicts and replays stay the same.
//
// `redact` is a list of regular expressions (RE2). A match within a string of a payload, of an activation's `error`, of
// a `reason` or of a run's `metrics` becomes "[redacted]", before the digest is computed.
//
// Thread: any; a policy is constant. Bounds: `max_patterns`. Cost: none with `full` and no patterns, otherwise one pass
// over the frame. Failure: the constructor throws.
#pragma once

#include <re2/re2.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/access/payload_settings.h"

namespace digd::daemon {

class payload_policy {
 public:
  static constexpr std::size_t max_patterns = 100;

  // Throws std::runtime_error, with a sentence for people, if a pattern is invalid.
  explicit payload_policy(const payload_settings& settings);

  bool changes_nothing() const { return settings_.keep == payload_keeping::full && patterns_.empty(); }
  payload_keeping keeps() const { return settings_.keep; }
  // The frame as the archive keeps it. Takes valid JSON and returns valid JSON.
  std::string stored(std::string_view frame) const;

 private:
  std::string redacted(std::string_view value) const;
  std::string redacted_token(std::string_view token) const;

  const payload_settings settings_;
  std::vector<std::unique_ptr<re2::RE2>> patterns_;
};

// Returns what is wrong with a pattern, otherwise an empty string.
std::string problem_of_pattern(const std::string& pattern);

}  // namespace digd::daemon
