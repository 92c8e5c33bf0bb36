#include "model/error.h"

#include <array>
#include <utility>

#include "base/enum_name.h"

namespace digd {

namespace {

constexpr std::array<std::string_view, refusal_count> names{
    "none",
    "bad_json",
    "bad_message",
    "bad_seq",
    "too_large",
    "over_limit",
    "unknown_event",
    "unknown_activation",
    "activation_closed",
    "duplicate_event",
    "duplicate_activation",
    "reserved_id",
    "settled_event",
    "not_an_input",
    "failed_with_outputs",
    "submit_without_source",
    "run_closed",
    "unauthorized",
    "unsupported_protocol",
    "hello_conflict",
    "moved",
    "hold_closed",
};
static_assert(names.back() == "hold_closed" && static_cast<std::size_t>(refusal::hold_closed) + 1 == refusal_count);

}  // namespace

std::string_view to_string(refusal code) { return names[static_cast<std::size_t>(code)]; }

std::optional<refusal> refusal_from(std::string_view name) {
  const std::optional<refusal> found = enum_from_name<refusal>(name, names);
  return found == refusal::none ? std::nullopt : found;
}

void refusal_note::consider(refusal other, std::string_view where, std::string words, std::optional<limit_id> hit) {
  if (other == refusal::none) return;
  if (code != refusal::none && code <= other) return;
  code = other;
  field = where;
  text = std::move(words);
  limit = hit;
}

}  // namespace digd
