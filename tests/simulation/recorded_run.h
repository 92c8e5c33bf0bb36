// The archived record of a run, in memory, and its recovery as in daemon/runs/read_back.cpp. With it tests check that
// live equals replay, and before a crash equals after.
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
  std::string response;          // verdicts or error as first sent; empty if none
  std::uint64_t value = 0;       // a digest of the answer: refusal, verdicts, interventions, detections, outcomes
};

// FNV-1a. Each text ends with its length, so that "ab", "c" and "a", "bc" differ.
class digest {
 public:
  void mix(std::string_view text);
  void mix(std::uint64_t number);
  std::uint64_t value() const { return value_; }

 private:
  std::uint64_t value_ = 14695981039346656037ull;
};

std::uint64_t digest_of(const ingest::record& record);
// A digest of the whole graph by id, and of the state of the run: equal for runs that will give the same answers.
std::uint64_t digest_of(const digd::run& run);

recorded_entry entry_of(const ingest::record& record, std::uint64_t n);
recorded_entry joining_entry(const hello& greeting, std::string frame, milliseconds ts, std::uint64_t n);

struct recovered_answers {
  bool fits = false;
  std::vector<std::uint64_t> values;  // digests of the records that the entry caused
};
// Applies one entry of a record to an inbox in recovery. The inbox must not hold frames for unknown ids
// (`hold_unseen(false)`).
recovered_answers recover_entry(ingest::inbox& in, ingest::decoder& decoder, const archive::stored_entry& e);

}  // namespace digd::tests
