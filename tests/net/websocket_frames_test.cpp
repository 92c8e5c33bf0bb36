#include "net/websocket_frames.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <random>
#include <string>
#include <vector>

using namespace digd::net;
using frame_kind = websocket_event::frame_kind;

namespace {

// A client's frame: masked, in as many bytes of length as RFC 6455 asks for.
std::string masked(unsigned first, std::string_view payload, std::string_view mask = "\x12\x34\x56\x78") {
  std::string out(1, static_cast<char>(first));
  if (payload.size() < 126) {
    out += static_cast<char>(0x80 | payload.size());
  } else if (payload.size() <= 0xffff) {
    out += static_cast<char>(0x80 | 126);
    out += static_cast<char>(payload.size() >> 8);
    out += static_cast<char>(payload.size() & 0xff);
  } else {
    out += static_cast<char>(0x80 | 127);
    for (int shift = 56; shift >= 0; shift -= 8)
      out += static_cast<char>(static_cast<std::uint64_t>(payload.size()) >> shift & 0xff);
  }
  out += mask;
  for (std::size_t i = 0; i < payload.size(); ++i) out += static_cast<char>(payload[i] ^ mask[i % 4]);
  return out;
}

constexpr unsigned fin = 0x80, text = 1, binary = 2, close_frame = 8, ping = 9, pong = 10;

struct heard {
  frame_kind kind;
  std::string payload;
  std::size_t bytes;
  unsigned code;
  bool operator==(const heard&) const = default;
};

std::ostream& operator<<(std::ostream& to, const heard& heard) {
  return to << "{" << static_cast<int>(heard.kind) << " '" << heard.payload.substr(0, 40) << "' "
            << heard.payload.size() << " " << heard.bytes << " " << heard.code << "}";
}

// All events that the reader reports for the bytes when they arrive in pieces of at most `piece`.
std::vector<heard> read(std::string_view bytes, std::size_t piece, std::size_t limit = 1 << 20) {
  websocket_reader reader(limit);
  std::vector<heard> out;
  while (true) {
    for (auto e = reader.next(); e.kind != frame_kind::none; e = reader.next()) {
      out.push_back({e.kind, std::string(e.payload), e.bytes, e.code});
      if (e.kind == frame_kind::broken) return out;
    }
    if (bytes.empty()) return out;
    const auto room = reader.room();
    REQUIRE_FALSE(room.empty());
    const std::size_t n = std::min({piece, room.size(), bytes.size()});
    std::copy_n(bytes.data(), n, room.data());
    reader.filled(n);
    bytes.remove_prefix(n);
  }
}

heard only(std::string_view bytes, std::size_t limit = 1 << 20) {
  const auto heards = read(bytes, 1 << 20, limit);
  REQUIRE(heards.size() == 1);
  return heards.front();
}

heard heard_text(std::string payload) { return {frame_kind::text, std::move(payload), 0, 0}; }

}  // namespace

TEST_CASE("frames_are_the_same_however_the_bytes_arrive", "[websocket]") {
  std::string bytes = masked(fin | text, "one") + masked(text, "tw") + masked(fin | ping, "still there?") +
                      masked(0, "o, ") + masked(fin, "in parts") + masked(fin | binary, std::string(300, '\x07')) +
                      masked(fin | text, "") + masked(fin | text, std::string(70'000, 'y')) + masked(fin | pong, "") +
                      masked(fin | close_frame,
                             "\x03\xe8"
                             "done");
  const std::vector<heard> expected{heard_text("one"),
                                    {frame_kind::ping, "still there?", 0, 0},
                                    heard_text("two, in parts"),
                                    {frame_kind::binary, std::string(300, '\x07'), 0, 0},
                                    heard_text(""),
                                    heard_text(std::string(70'000, 'y')),
                                    {frame_kind::pong, "", 0, 0},
                                    {frame_kind::close, "done", 0, 1000}};
  for (const std::size_t piece : {1, 2, 3, 7, 64, 1000, 32'768, 1'000'000}) CHECK(read(bytes, piece) == expected);
}

TEST_CASE("a_message_over_the_limit_is_counted_and_the_next_is_read", "[websocket]") {
  const std::string after = masked(fin | text, "after");
  for (const std::size_t piece : {1, 100, 100'000}) {
    CHECK(read(masked(fin | text, std::string(11, 'x')) + after, piece, 10) ==
          std::vector<heard>{{frame_kind::too_large, "", 11, 0}, heard_text("after")});
    CHECK(read(masked(text, std::string(9, 'x')) + masked(fin, "xx") + after, piece, 10) ==
          std::vector<heard>{{frame_kind::too_large, "", 11, 0}, heard_text("after")});
    CHECK(read(masked(fin | text, std::string(160, 'x')) + after, piece, 10) ==
          std::vector<heard>{{frame_kind::too_large, "", 160, 0}, heard_text("after")});
  }
  CHECK(only(masked(fin | text, std::string(10, 'x')), 10) == heard_text(std::string(10, 'x')));
}

TEST_CASE("sixteen_times_the_limit_breaks_the_connection_before_the_bytes_come", "[websocket]") {
  const std::string head = masked(fin | text, std::string(161, 'x')).substr(0, 8);
  CHECK(only(head, 10).code == 1009);
  CHECK(read(masked(text, std::string(100, 'x')) + masked(0, std::string(61, 'x')), 1, 10).back().code == 1009);
  std::string endless(1, static_cast<char>(fin | text));
  endless += static_cast<char>(0x80 | 127);
  endless.append(8, '\xff');
  endless += "mask";
  CHECK(only(endless).code == 1009);
}

TEST_CASE("a_violation_of_the_protocol_closes_with_its_code", "[websocket]") {
  CHECK(only(masked(fin | 0x40 | text, "x")).code == 1002);  // a reserved bit
  CHECK(only(masked(fin | 3, "x")).code == 1002);            // an unknown kind
  CHECK(only(masked(fin | 0, "x")).code == 1002);            // continues nothing
  CHECK(only(masked(text, "x") + masked(fin | text, "y")).code == 1002);
  CHECK(only(masked(ping, "x")).code == 1002);  // in fragments
  CHECK(only(masked(fin | ping, std::string(126, 'x'))).code == 1002);
  CHECK(only(std::string("\x81\x01x")).code == 1002);  // not masked
  CHECK(only(masked(fin | close_frame, "x")).code == 1002);
  for (const char* code : {"\x03\xe7", "\x03\xed", "\x03\xee", "\x03\xf7", "\x07\xd0", "\x13\x88"})
    CHECK(only(masked(fin | close_frame, code)).code == 1002);
  CHECK(only(masked(fin | text, "caf\xc3")).code == 1007);
  CHECK(only(masked(fin | close_frame, "\x03\xe8\xff")).code == 1007);
  CHECK(only(masked(fin | close_frame, "")) == heard{frame_kind::close, "", 0, 1005});
  CHECK(only(masked(fin | close_frame, "\x11\x94")) == heard{frame_kind::close, "", 0, 4500});
}

TEST_CASE("a_character_may_be_cut_between_fragments_but_not_at_the_end", "[websocket]") {
  CHECK(read(masked(text, "caf\xc3") + masked(fin, "\xa9"), 5) == std::vector<heard>{heard_text("caf\xc3\xa9")});
  CHECK(read(masked(text, "caf") + masked(fin, "\xc3"), 5).back().code == 1007);
}

TEST_CASE("after_a_violation_nothing_more_is_read", "[websocket]") {
  websocket_reader reader(100);
  const std::string bytes = masked(fin | 3, "x") + masked(fin | text, "y");
  std::copy(bytes.begin(), bytes.end(), reader.room().data());
  reader.filled(bytes.size());
  CHECK(reader.next().kind == frame_kind::broken);
  CHECK(reader.next().kind == frame_kind::broken);
}

TEST_CASE("random_bytes_end_and_keep_within_bounds", "[websocket][fuzz]") {
  std::mt19937 dice(7);
  for (int round = 0; round < 3000; ++round) {
    std::string bytes;
    while (bytes.size() < 600) {
      const unsigned first =
          dice() % 4 == 0 ? dice() % 256
                          : (std::vector<unsigned>{fin | text, text, 0, fin, fin | ping, fin | binary})[dice() % 6];
      bytes += masked(first, std::string(dice() % 200, static_cast<char>('a' + dice() % 26)));
    }
    const auto whole = read(bytes, 1 << 20, 150);
    CHECK(read(bytes, 1 + dice() % 50, 150) == whole);
    for (const heard& heard : whole) CHECK(heard.payload.size() <= 150);
  }
}

TEST_CASE("a_written_frame_has_the_length_in_its_header", "[websocket]") {
  for (const std::size_t size : {0, 1, 125, 126, 127, 65'535, 65'536}) {
    std::string out;
    append_websocket_frame(out, websocket_opcode::text, std::string(size, 'z'));
    const std::size_t head = size < 126 ? 2 : size <= 0xffff ? 4 : 10;
    REQUIRE(out.size() == head + size);
    CHECK(static_cast<unsigned char>(out[0]) == 0x81);
    CHECK((static_cast<unsigned char>(out[1]) & 0x80) == 0);
  }
  CHECK(close_payload(4408, "slow") == std::string("\x11\x38slow"));
  const std::string long_reason = std::string(122, 'x') + "\xc3\xa9";
  CHECK(close_payload(1000, long_reason).size() == 2 + 122);  // not half of the last character
}
