// The fingerprints by which the guard `repetition` compares events (docs/guards.md): the client's, or a digest of the
// payload. Pure functions; the same text gives the same hash on every machine and in every version.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "model/message.h"

namespace digd::ingest {

// The hash of a client's fingerprint.
std::uint64_t hash_of_fingerprint(std::string_view text);
// The hash of the JSON value at the beginning of `text`, without the whitespace outside its strings.
std::uint64_t digest_of_payload(std::string_view text);
// A digest as a fingerprint, for exported traces.
using digest_text = std::array<char, 24>;
digest_text text_of_digest(std::uint64_t digest);
inline std::string_view view_of(const digest_text& text) { return {text.data(), text.size()}; }

// Whether an event's fingerprint comes from its payload.
bool has_digests(const message& m);
// The frame of `m` with the digests as fingerprints: a replay has them even if the payloads were removed.
void append_with_fingerprints(std::string& out, std::string_view frame, const message& m);

}  // namespace digd::ingest
