// Writes protobuf messages at the end of a string (https://protobuf.dev/programming-guides/encoding/).
//
// Ownership: the string belongs to the caller and outlives the writer. Thread: as for the string. Failure: none.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace digd::daemon {

class protobuf_writer {
 public:
  explicit protobuf_writer(std::string& out) : out_(out) {}

  // Bytes, text, or another message.
  protobuf_writer& bytes(std::uint32_t field, std::string_view value) {
    varint(field << 3 | 2);
    varint(value.size());
    out_ += value;
    return *this;
  }
  protobuf_writer& number(std::uint32_t field, std::uint64_t value) {
    varint(field << 3);
    varint(value);
    return *this;
  }
  protobuf_writer& fixed64(std::uint32_t field, std::uint64_t value) {
    varint(field << 3 | 1);
    for (int i = 0; i < 8; ++i) out_ += static_cast<char>(value >> 8 * i & 0xff);
    return *this;
  }

 private:
  void varint(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) out_ += static_cast<char>(value | 0x80);
    out_ += static_cast<char>(value);
  }

  std::string& out_;
};

}  // namespace digd::daemon
