// What a stranger's bytes on an open WebSocket are taken for. The first byte chooses the limit and how the bytes
// arrive: the same comes of them in pieces as at once, and nothing is kept beyond the limit.
#include "net/websocket_frames.h"

#include <algorithm>
#include <vector>

#include "tests/fuzz/target.h"

using digd::fuzz::must;
using namespace digd::net;

namespace {

struct heard {
  websocket_event::frame_kind kind;
  std::string payload;
  std::size_t bytes;
  std::uint16_t code;
  bool operator==(const heard&) const = default;
};

std::vector<heard> hear(std::string_view bytes, std::size_t limit, std::size_t piece) {
  websocket_reader reader(limit);
  std::vector<heard> out;
  while (true) {
    for (auto e = reader.next(); e.kind != websocket_event::frame_kind::none; e = reader.next()) {
      out.push_back({e.kind, std::string(e.payload), e.bytes, e.code});
      if (e.kind == websocket_event::frame_kind::broken) return out;
    }
    if (bytes.empty()) return out;
    const auto room = reader.room();
    must(!room.empty(), "there is room for more", bytes);
    const std::size_t n = std::min({piece, room.size(), bytes.size()});
    std::copy_n(bytes.data(), n, room.data());
    reader.filled(n);
    bytes.remove_prefix(n);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::size_t limit = 1 + data[0] * 3u;
  const std::string_view bytes = digd::fuzz::text_of(data + 1, size - 1);
  const std::vector<heard> whole = hear(bytes, limit, size);
  must(hear(bytes, limit, 1 + data[0] % 7u) == whole, "the same however it arrives", bytes);
  for (const heard& heard : whole) {
    const bool is_message =
        heard.kind == websocket_event::frame_kind::text || heard.kind == websocket_event::frame_kind::binary;
    must(!is_message || heard.payload.size() <= limit, "a message keeps to its limit", heard.payload);
    must(heard.kind != websocket_event::frame_kind::too_large ||
             (heard.bytes > limit && heard.bytes <= limit * websocket_reader::too_large_factor),
         "what is too large says how large", bytes);
    must(heard.kind != websocket_event::frame_kind::broken || (heard.code >= 1002 && heard.code <= 1009),
         "a code for what is broken", bytes);
  }
  return 0;
}
