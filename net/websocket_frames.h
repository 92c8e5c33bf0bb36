// Parses RFC 6455 frames of a client, and writes those of a server. No socket, no clock.
//
// Beast could read the frames too, but it completes them one by one: each costs a turn of the event loop and a system
// call. This reader handles all frames of one read at once (docs/performance.md).
//
// Thread: one at a time. Bounds: it keeps `message_bytes` of a message, and counts and drops the rest. A message over
// `too_large_factor` times that is `broken`, and so is a control frame of over 125 bytes. Failure: `broken`, with the
// close code that RFC 6455 asks for; it reads nothing after that.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace digd::net {

enum class websocket_opcode : std::uint8_t { continuation = 0, text = 1, binary = 2, close = 8, ping = 9, pong = 10 };

// Appends a whole frame, unmasked, as a server sends it.
void append_websocket_frame(std::string& out, websocket_opcode opcode, std::string_view payload);

// The payload of a close frame: the code, and as much of the reason as fits.
std::string close_payload(std::uint16_t code, std::string_view reason);

struct websocket_event {
  enum class frame_kind : std::uint8_t {
    none,
    text,
    binary,
    too_large,
    ping,
    pong,
    close,
    broken
  } kind = frame_kind::none;
  // The content of a message, ping or pong; the reason of a close; or why the frames are broken. Valid until the next
  // call of the reader.
  std::string_view payload;
  std::size_t bytes = 0;   // too_large: the size of the message
  std::uint16_t code = 0;  // close: the client's code, 1005 if it gave none; broken: the code to send
};

class websocket_reader {
 public:
  static constexpr std::size_t buffer_bytes = 32 * 1024;
  static constexpr std::size_t too_large_factor = 16;
  static constexpr std::size_t max_kept_message_bytes = 64 * 1024;  // more memory is freed after its message

  explicit websocket_reader(std::size_t message_bytes);

  void limit_messages(std::size_t bytes) { message_bytes_ = bytes; }

  // Where to read the next bytes to; never empty. Call `filled` with their number.
  std::span<char> room();
  void filled(std::size_t bytes) { end_ += bytes; }
  // Discards unread bytes, and what it keeps of a message; `next` is not called again.
  void drop() {
    begin_ = end_ = 0;
    std::string().swap(message_);
  }
  std::size_t kept_bytes() const { return message_.capacity(); }  // of a message that is not whole

  // The next event; none: it needs more bytes.
  websocket_event next();

 private:
  struct header {
    bool fin = false;
    websocket_opcode opcode{};
    std::array<char, 4> mask{};
    std::uint64_t left = 0;  // of the payload
    std::uint64_t done = 0;
  };

  enum class progress : std::uint8_t { whole, needs_more, broken };
  progress read_header();
  bool check_header(std::uint8_t first, std::uint8_t second);
  websocket_event take_control();
  websocket_event take_whole();
  bool exceeds_closing_limit(std::uint64_t more) const;
  void take_part();
  websocket_event finish_message();
  websocket_event message_of(std::string_view text);
  websocket_event broken(std::uint16_t code, std::string_view problem);

  std::size_t message_bytes_;
  std::unique_ptr<char[]> buffer_;
  std::size_t begin_ = 0, end_ = 0;

  header frame_;
  bool in_frame_ = false;
  bool in_message_ = false;  // fragments of a message have arrived
  bool is_text_ = false;
  std::string message_;      // of a message that is not whole in the buffer
  std::size_t dropped_ = 0;  // bytes of a message too large to be kept
  bool given_message_ = false;
  std::uint16_t broken_code_ = 0;
  std::string_view problem_;
};

}  // namespace digd::net
