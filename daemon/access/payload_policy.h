// How much of what agents said is kept: payloads in full, as a digest, or not at all, and what is blotted out first.
// Applied to a frame before it leaves the engine thread for the archive; whatever reads the archive (feed, reports,
// webhooks) therefore never sees more. Rules look into no payload, so that verdicts and replays stay the same.
//
//   full     as sent
//   digest   {"sha256":"…","bytes":N}: equal payloads can still be told to be equal
//   none     the member is left out
//
// `redact`: regular expressions (RE2); what matches within a string of a payload, of an activation's `error` or of a
// `reason` becomes "[redacted]", before the digest is taken. Constant once made; any thread. Cost: none with `full` and
// nothing to redact, else a pass over the frame.
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
  static constexpr std::size_t most_patterns = 100;

  // Throws std::runtime_error, in words for people, on a pattern that is none.
  explicit payload_policy(const payload_settings& settings);

  bool changes_nothing() const { return settings_.keep == payload_keeping::full && patterns_.empty(); }
  payload_keeping keeps() const { return settings_.keep; }
  // Valid JSON in, valid JSON out.
  std::string stored(std::string_view frame) const;

 private:
  std::string redacted(std::string_view value) const;
  std::string redacted_token(std::string_view token) const;

  const payload_settings settings_;
  std::vector<std::unique_ptr<re2::RE2>> patterns_;
};

// What is wrong with a pattern; empty if nothing is.
std::string problem_of_pattern(const std::string& pattern);

}  // namespace digd::daemon
