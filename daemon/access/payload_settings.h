// The settings of payloads; payload_policy.h explains the values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace digd::daemon {

enum class payload_keeping : std::uint8_t { full, digest, none };

struct payload_settings {
  payload_keeping keep = payload_keeping::full;
  std::vector<std::string> redact;
  std::uint64_t search_bytes = 0;  // of the index of texts; 0: no search
  bool operator==(const payload_settings&) const = default;
};

std::string_view to_string(payload_keeping keeping);
std::optional<payload_keeping> payload_keeping_from(std::string_view name);

}  // namespace digd::daemon
