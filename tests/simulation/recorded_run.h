// What the archive keeps of a run, in memory, and how it is fed back to a run, as the daemon does after a restart
// (daemon/recovery.cpp): the ground for "live = replay" and "before a crash = after".
//
// Threads: none of its own. Lifetime: an entry owns its strings.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "archive/archive.h"
#include "ingest/protocol/decode.h"
#include "ingest/protocol/inbox.h"

namespace digd::tests {

struct recorded_entry {
  archive::stored_entry stored;  // `n` counts from 1 over the run
  std::uint64_t value = 0;  // a digest of all that came of it: refusal, verdicts, interventions, detections, outcomes
};

// FNV-1a, and what is mixed in ends with its length, so that parts do not run into each other.
class digest {
 public:
  void mix(std::string_view text);
  void mix(std::uint64_t number);
  std::uint64_t value() const { return value_; }

 private:
  std::uint64_t value_ = 14695981039346656037ull;
};

std::uint64_t digest_of(const ingest::record& record);
// Everything that a run's graph and its sessions hold, by id: equal for runs that will answer the same.
std::uint64_t digest_of(const digd::run& run);

recorded_entry entry_of(const ingest::record& record, std::uint64_t n);
recorded_entry joining_entry(const hello& greeting, std::string frame, milliseconds ts, std::uint64_t n);

struct fed {
  bool fits = false;
  std::vector<std::uint64_t> values;  // digests of the items that the entry brought about
};
// Feeds one entry of a record to an inbox that is read back. The inbox must not wait for unseen ids meanwhile
// (`hold_unseen(false)`).
fed feed(ingest::inbox& in, ingest::decoder& decoder, const archive::stored_entry& e);

}  // namespace digd::tests
