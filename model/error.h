// Why a message is refused. In the protocol's order: if several reasons apply, the answer names the first.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "model/limit.h"

namespace digd {

enum class refusal : std::uint8_t {
  none = 0,
  bad_json,
  bad_message,
  bad_seq,
  too_large,
  over_limit,
  unknown_event,
  unknown_activation,
  activation_closed,
  duplicate_event,
  duplicate_activation,
  reserved_id,
  settled_event,
  not_an_input,
  failed_with_outputs,
  submit_without_source,
  run_closed,
  unauthorized,
  unsupported_protocol,
  hello_conflict,
  moved,
  hold_closed,
};
inline constexpr std::size_t refusal_count = 22;

std::string_view to_string(refusal);
std::optional<refusal> refusal_from(std::string_view name);

// A refusal and its explanation: what is wrong, in which field, and what was expected.
struct refusal_note {
  refusal code = refusal::none;
  std::string field;  // the offending field; empty if no single field is at fault
  std::string text;
  std::optional<limit_id> limit;  // of over_limit and too_large

  explicit operator bool() const { return code != refusal::none; }
  // Keeps the reason that comes first in the protocol's order.
  void consider(refusal code, std::string_view field, std::string text, std::optional<limit_id> limit = std::nullopt);
};

}  // namespace digd
