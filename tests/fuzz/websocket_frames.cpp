// Untrusted bytes on an open WebSocket. The first byte chooses the limit and the size of the pieces in which the others
// arrive. Pieces must give the same frames as all bytes at once, and no payload may exceed the limit.
#include "net/websocket_frames.h"

#include <algorithm>
#include <vector>

#include "tests/fuzz/target.h"

using digd::fuzz::must;
using namespace digd::net;

namespace {

struct received_frame {
  websocket_event::frame_kind kind;
  std::string payload;
  std::size_t bytes;
  std::uint16_t code;
  bool operator==(const received_frame&) const = default;
};

std::vector<received_frame> read_in_pieces(std::string_view bytes, std::size_t limit, std::size_t piece_size) {
  websocket_reader reader(limit);
  std::vector<received_frame> out;
  while (true) {
    for (auto e = reader.next(); e.kind != websocket_event::frame_kind::none; e = reader.next()) {
      out.push_back({e.kind, std::string(e.payload), e.bytes, e.code});
      if (e.kind == websocket_event::frame_kind::broken) return out;
    }
    if (bytes.empty()) return out;
    const auto room = reader.room();
    must(!room.empty(), "there is room for more", bytes);
    const std::size_t n = std::min({piece_size, room.size(), bytes.size()});
    std::copy_n(bytes.data(), n, room.data());
    reader.filled(n);
    bytes.remove_prefix(n);
  }
}

}  // namespace

FUZZ_TARGET(websocket_frames) {
  if (size == 0) return 0;
  const std::size_t limit = 1 + data[0] * 3u;
  const std::string_view bytes = digd::fuzz::text_of(data + 1, size - 1);
  const std::vector<received_frame> whole = read_in_pieces(bytes, limit, size);
  must(read_in_pieces(bytes, limit, 1 + data[0] % 7u) == whole, "pieces give the same frames", bytes);
  for (const received_frame& frame : whole) {
    const bool is_message =
        frame.kind == websocket_event::frame_kind::text || frame.kind == websocket_event::frame_kind::binary;
    must(!is_message || frame.payload.size() <= limit, "a message keeps to its limit", frame.payload);
    must(frame.kind != websocket_event::frame_kind::too_large ||
             (frame.bytes > limit && frame.bytes <= limit * websocket_reader::too_large_factor),
         "a frame that is too large reports its size", bytes);
    must(frame.kind != websocket_event::frame_kind::broken || (frame.code >= 1002 && frame.code <= 1009),
         "a broken frame has a close code", bytes);
  }
  return 0;
}
