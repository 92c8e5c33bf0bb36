// The first words of an event's payload, for a tooltip.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <unordered_map>

namespace digd::picture {

inline constexpr std::size_t max_words_bytes = 160;

// By event id, for those that the frame announces: the payload's `text`, `content` or `message`, else the payload as
// JSON; line ends and runs of spaces as one space; cut. Events without a payload are left out.
std::unordered_map<std::string, std::string> payload_words(std::string_view frame);

}  // namespace digd::picture
