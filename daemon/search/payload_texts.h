// The texts of a stored frame's payloads, for search. Pure; any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace digd::daemon {

struct payload_text {
  std::string event, text;
};

// Each event of the frame with a payload that has text: all strings in it, at any depth, at most `max_bytes`.
std::vector<payload_text> payload_texts(std::string_view frame, std::size_t max_bytes);

}  // namespace digd::daemon
