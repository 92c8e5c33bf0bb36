// Why a server closes a WebSocket connection.
#pragma once

#include <cstdint>
#include <string_view>

namespace digd::net {

// Texts for `on_closed` and for the close frame.
inline constexpr std::string_view slow_client_words = "the client does not read what it is sent";
inline constexpr std::string_view idle_words = "nothing was heard of the client, not even an answer to a ping";

// Beyond going_away, none is of RFC 6455.
enum class close_code : std::uint16_t {
  going_away = 1001,
  fatal_error = 4400,  // after an `error` with "fatal":true
  too_slow = 4408,     // does not read, or sends no hello
  replaced = 4409,     // by a newer connection of the same session
  quiet = 4410,        // sent no message for long
  memory = 4411,       // it, or its token or run, made the server hold too much
};

}  // namespace digd::net
