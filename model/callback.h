// A callback about a detection, an intervention or the end of a run, as values: the archive reads them, and webhooks
// post them (healing/callback_body.h).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace digd {

// `run`: the end of a run, which only the export of spans sends.
enum class callback_kind : std::uint8_t { detection, intervention, run };

std::string_view to_string(callback_kind kind);

struct callback_text {
  std::string run;   // the run's id
  std::string json;  // the detection, or the intervention as it was sent; for a run: its end and its detections
  std::string hold;  // of a detection: the hold that began with it, as in hold:1; empty: none
  std::string event;
  std::string link;          // the URL of a page where a person decides about the hold; empty: none
  std::uint64_t joined = 0;  // equal alerts that were left out before this one
  std::int64_t at_ms = 0;    // Unix: when it was archived
};

}  // namespace digd
