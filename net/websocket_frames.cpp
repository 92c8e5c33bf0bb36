#include "net/websocket_frames.h"

#include <simdjson.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include "base/text.h"

namespace digd::net {

namespace {

constexpr std::size_t max_control_bytes = 125;  // RFC 6455, 5.5
constexpr std::uint16_t protocol_error = 1002, bad_payload = 1007, too_big = 1009, no_code = 1005;

std::uint8_t byte_at(const char* at) { return static_cast<std::uint8_t>(*at); }

std::uint64_t big_endian(const char* at, std::size_t bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < bytes; ++i) value = value << 8 | byte_at(at + i);
  return value;
}

void append_big_endian(std::string& out, std::uint64_t value, std::size_t bytes) {
  while (bytes-- > 0) out += static_cast<char>(value >> (8 * bytes) & 0xff);
}

// `phase`: how many bytes of the frame came before.
void unmask(char* at, std::size_t bytes, const std::array<char, 4>& mask, std::uint64_t phase) {
  std::array<char, 8> wide;
  for (std::size_t i = 0; i < wide.size(); ++i) wide[i] = mask[(phase + i) % 4];
  std::uint64_t key = 0;
  std::memcpy(&key, wide.data(), sizeof key);
  if (key == 0) return;
  std::size_t i = 0;
  for (; i + sizeof key <= bytes; i += sizeof key) {
    std::uint64_t word = 0;
    std::memcpy(&word, at + i, sizeof word);
    word ^= key;
    std::memcpy(at + i, &word, sizeof word);
  }
  for (; i < bytes; ++i) at[i] ^= wide[i % 8];
}

bool is_control(websocket_opcode opcode) { return (static_cast<std::uint8_t>(opcode) & 8) != 0; }

// RFC 6455, 7.4: the registered codes, and the ranges for libraries (3000) and applications (4000).
bool may_be_sent(std::uint16_t code) {
  return (code >= 1000 && code <= 1014 && code != 1004 && code != 1005 && code != 1006) ||
         (code >= 3000 && code <= 4999);
}

}  // namespace

void append_websocket_frame(std::string& out, websocket_opcode opcode, std::string_view payload) {
  out += static_cast<char>(0x80 | static_cast<std::uint8_t>(opcode));
  if (payload.size() < 126) {
    out += static_cast<char>(payload.size());
  } else if (payload.size() <= 0xffff) {
    out += static_cast<char>(126);
    append_big_endian(out, payload.size(), 2);
  } else {
    out += static_cast<char>(127);
    append_big_endian(out, payload.size(), 8);
  }
  out += payload;
}

std::string close_payload(std::uint16_t code, std::string_view reason) {
  std::string out;
  append_big_endian(out, code, 2);
  return out.append(utf8_prefix(reason, max_control_bytes - 2));
}

websocket_reader::websocket_reader(std::size_t message_bytes)
    : message_bytes_(message_bytes), buffer_(std::make_unique_for_overwrite<char[]>(buffer_bytes)) {}

std::span<char> websocket_reader::room() {
  if (begin_ == end_) {
    begin_ = end_ = 0;
  } else if (begin_ > 0) {  // at most an incomplete header or control frame is left
    std::memmove(buffer_.get(), buffer_.get() + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
  }
  return {buffer_.get() + end_, buffer_bytes - end_};
}

websocket_event websocket_reader::next() {
  if (given_message_) {
    message_.clear();
    if (message_.capacity() > max_kept_message_bytes) message_.shrink_to_fit();
    given_message_ = false;
  }
  while (broken_code_ == 0) {
    if (!in_frame_) {
      const progress head = read_header();
      if (head == progress::needs_more) return {};
      if (head == progress::broken) break;
      if (is_control(frame_.opcode)) {
        return take_control();
      }
    }
    if (!in_message_ && frame_.fin && frame_.done == 0 && end_ - begin_ >= frame_.left) return take_whole();
    take_part();
    if (frame_.left > 0) return {};
    in_frame_ = false;
    in_message_ = !frame_.fin;
    if (frame_.fin) return finish_message();
  }
  return {websocket_event::frame_kind::broken, problem_, 0, broken_code_};
}

websocket_reader::progress websocket_reader::read_header() {
  const std::size_t there = end_ - begin_;
  if (there < 2) return progress::needs_more;
  const char* at = buffer_.get() + begin_;
  if (!check_header(byte_at(at), byte_at(at + 1))) return progress::broken;
  const std::size_t length = byte_at(at + 1) & 0x7f;
  const std::size_t wide = length == 126 ? 2 : length == 127 ? 8 : 0;
  const std::size_t whole = 2 + wide + 4;
  if (there < whole) return progress::needs_more;
  frame_.fin = (byte_at(at) & 0x80) != 0;
  frame_.opcode = static_cast<websocket_opcode>(byte_at(at) & 0x0f);
  frame_.left = wide == 0 ? length : big_endian(at + 2, wide);
  frame_.done = 0;
  std::memcpy(frame_.mask.data(), at + 2 + wide, 4);
  if (is_control(frame_.opcode)) {
    if (there < whole + frame_.left) return progress::needs_more;  // handle it when it is complete: at most 131 bytes
  } else {
    if (exceeds_closing_limit(frame_.left)) {
      broken(too_big, "the message is too large");
      return progress::broken;
    }
    if (!in_message_) is_text_ = frame_.opcode == websocket_opcode::text;
    in_frame_ = true;
  }
  begin_ += whole;
  return progress::whole;
}

bool websocket_reader::check_header(std::uint8_t first, std::uint8_t second) {
  const auto opcode = static_cast<websocket_opcode>(first & 0x0f);
  const auto no = [this](std::string_view problem) {
    broken(protocol_error, problem);
    return false;
  };
  if ((first & 0x70) != 0) return no("a reserved bit is set");
  if ((second & 0x80) == 0) return no("a client's frame is not masked");
  switch (opcode) {
    case websocket_opcode::continuation: return in_message_ || no("a continuation of nothing");
    case websocket_opcode::text:
    case websocket_opcode::binary: return !in_message_ || no("a message begins inside another");
    case websocket_opcode::close:
    case websocket_opcode::ping:
    case websocket_opcode::pong:
      if ((first & 0x80) == 0) return no("a control frame in fragments");
      return (second & 0x7f) <= max_control_bytes || no("a control frame is too long");
  }
  return no("an unknown kind of frame");
}

websocket_event websocket_reader::take_control() {
  char* at = buffer_.get() + begin_;
  const auto bytes = static_cast<std::size_t>(frame_.left);
  unmask(at, bytes, frame_.mask, 0);
  begin_ += bytes;
  const std::string_view payload(at, bytes);
  if (frame_.opcode == websocket_opcode::ping) return {websocket_event::frame_kind::ping, payload, 0, 0};
  if (frame_.opcode == websocket_opcode::pong) return {websocket_event::frame_kind::pong, payload, 0, 0};
  if (payload.empty()) return {websocket_event::frame_kind::close, {}, 0, no_code};
  if (payload.size() == 1) return broken(protocol_error, "a close frame of one byte");
  const auto code = static_cast<std::uint16_t>(big_endian(payload.data(), 2));
  const std::string_view reason = payload.substr(2);
  if (!may_be_sent(code)) return broken(protocol_error, "a close code that may not be sent");
  if (!simdjson::validate_utf8(reason.data(), reason.size()))
    return broken(bad_payload, "the reason of a close is not UTF-8");
  return {websocket_event::frame_kind::close, reason, 0, code};
}

// The usual case: a message in one frame, all of it in the buffer.
websocket_event websocket_reader::take_whole() {
  char* at = buffer_.get() + begin_;
  const auto bytes = static_cast<std::size_t>(frame_.left);
  unmask(at, bytes, frame_.mask, 0);
  begin_ += bytes;
  in_frame_ = false;
  if (bytes > message_bytes_) {
    dropped_ = bytes;
    return finish_message();
  }
  return message_of({at, bytes});
}

bool websocket_reader::exceeds_closing_limit(std::uint64_t more) const {
  const std::size_t max_bytes = std::numeric_limits<std::size_t>::max() / too_large_factor;
  const std::size_t bound = std::min(message_bytes_, max_bytes) * too_large_factor;
  const std::size_t received = message_.size() + dropped_;
  return received > bound || more > bound - received;
}

// Appends the available part of a frame's payload to the message.
void websocket_reader::take_part() {
  const auto bytes = static_cast<std::size_t>(std::min<std::uint64_t>(frame_.left, end_ - begin_));
  char* at = buffer_.get() + begin_;
  unmask(at, bytes, frame_.mask, frame_.done);
  begin_ += bytes;
  frame_.left -= bytes;
  frame_.done += bytes;
  if (dropped_ > 0 || message_.size() + bytes > message_bytes_) {
    dropped_ += message_.size() + bytes;
    message_.clear();
  } else {
    message_.append(at, bytes);
  }
}

websocket_event websocket_reader::finish_message() {
  given_message_ = true;
  if (dropped_ > 0) return {websocket_event::frame_kind::too_large, {}, std::exchange(dropped_, 0), 0};
  return message_of(message_);
}

websocket_event websocket_reader::message_of(std::string_view text) {
  if (!is_text_) return {websocket_event::frame_kind::binary, text, 0, 0};
  if (!simdjson::validate_utf8(text.data(), text.size())) return broken(bad_payload, "a text that is not UTF-8");
  return {websocket_event::frame_kind::text, text, 0, 0};
}

websocket_event websocket_reader::broken(std::uint16_t code, std::string_view problem) {
  broken_code_ = code;
  problem_ = problem;
  return {websocket_event::frame_kind::broken, problem, 0, code};
}

}  // namespace digd::net
