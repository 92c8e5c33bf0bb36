// Why a server closes a WebSocket connection.
#pragma once

#include <cstdint>
#include <string_view>

namespace digd::net {

// Texts for `on_closed` and for the close frame.
inline constexpr std::string_view slow_client_words = "the client does not read what it is sent";
inline constexpr std::string_view idle_words = "nothing was heard of the client, not even an answer to a ping";

// Except for going_away, these codes are digd's own and not in RFC 6455.
enum class close_code : std::uint16_t {
  going_away = 1001,
  fatal_error = 4400,  // after an `error` with "fatal":true
  too_slow = 4408,     // the client does not read, or sends no hello
  replaced = 4409,     // by a newer connection of the same session
  quiet = 4410,        // the client sent no message for too long
  memory = 4411,       // the connection, its token or its run made the server hold too much memory
};

}  // namespace digd::net
