#include "daemon/settings/canary.h"

#include <openssl/sha.h>

#include <array>
#include <cmath>

#include "base/deep_json.h"

namespace digd::daemon {

namespace {

namespace json = boost::json;

constexpr std::size_t fraction_bytes = 8;
constexpr int kept_bits = 53;  // a double holds them exactly

std::string_view to_string(canary_group group) { return group == canary_group::enforce ? "enforce" : "shadow"; }

}  // namespace

double canary_fraction(std::string_view run) {
  std::array<unsigned char, SHA256_DIGEST_LENGTH> digest{};
  SHA256(reinterpret_cast<const unsigned char*>(run.data()), run.size(), digest.data());
  std::uint64_t first = 0;
  for (std::size_t i = 0; i < fraction_bytes; ++i) first = first << 8 | digest[i];
  return std::ldexp(static_cast<double>(first >> (64 - kept_bits)), -kept_bits);
}

canary_group draw_canary(const hello& asked, const run_policy& policy, double enforce_share, mode operator_mode) {
  if (enforce_share <= 0 || policy.strongest_mode < mode::enforce || operator_mode < mode::enforce)
    return canary_group::none;
  const bool joins = asked.mode ? *asked.mode == mode::shadow : policy.defaults.mode >= mode::shadow;
  if (!joins) return canary_group::none;
  return canary_fraction(asked.run) < enforce_share ? canary_group::enforce : canary_group::shadow;
}

mode mode_in(canary_group group, mode otherwise) {
  if (group == canary_group::none) return otherwise;
  return group == canary_group::enforce ? mode::enforce : mode::shadow;
}

bool is_replaced(canary_group group, const hello& asked) {
  return group != canary_group::none && asked.mode == mode::shadow;
}

void append_group(std::string& opening_frame, canary_group group) {
  if (group == canary_group::none || !opening_frame.ends_with('}')) return;
  opening_frame.pop_back();
  opening_frame.append(R"(,"canary":")").append(to_string(group)).append("\"}");
}

canary_group recorded_group(std::string_view opening_frame) {
  json::error_code ec;
  const json::value value = parse_json(opening_frame, ec);
  const json::object* fields = ec ? nullptr : value.if_object();
  const json::value* found = fields == nullptr ? nullptr : fields->if_contains("canary");
  if (found == nullptr || !found->is_string()) return canary_group::none;
  const std::string_view name(found->get_string().data(), found->get_string().size());
  for (const canary_group group : {canary_group::shadow, canary_group::enforce}) {
    if (name == to_string(group)) return group;
  }
  return canary_group::none;
}

}  // namespace digd::daemon
