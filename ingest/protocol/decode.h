// Frames into messages: JSON text, checked in full, refused with a code, the field and what was expected.
//
// One decoder a thread; not thread-safe. Nothing is allocated for a small message once the buffers have
// grown.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string_view>

#include "model/error.h"
#include "model/message.h"
#include "model/settings.h"

namespace digd::ingest {

struct decoded {
  refusal_note refused;  // bad_json or bad_message; what else is set is then incomplete
  bool has_seq = false;  // the frame has a usable seq (also where it is refused for another reason)
  std::uint64_t seq = 0;
  bool is_hello = false;  // then nothing but `refused` counts: decode it with `decode_hello`
};

// What `encode_refused` wrote, back from an archive or a trace.
struct refused_line {
  std::uint64_t seq = 0;
  std::optional<milliseconds> ts;  // in an exported trace
  refusal_note note;
};

class decoder {
 public:
  decoder();
  ~decoder();
  decoder(decoder&&) noexcept;
  decoder& operator=(decoder&&) noexcept;

  // Decodes any message but `hello` into `out`, whose views live until the next call.
  // `frame` need not be padded. Bounds: nesting at most 64 levels above the payload's own 1,000; deeper is
  // bad_json. JSON that is no object is bad_message without a field. Of several bad fields the first in the
  // frame is named, missing ones after it; bad_json anywhere comes before all and leaves no seq.
  decoded decode(std::string_view frame, message& out);

  // Decodes a hello; `out` owns its strings. Also unsupported_protocol, where nothing else is wrong.
  refusal_note decode_hello(std::string_view frame, hello& out);

  // Nothing if it is no such line.
  std::optional<refused_line> refused_line_of(std::string_view line);

  // The `session` member of a trace line ("main" if it has none or is no object); a view until the next call.
  std::string_view session_of(std::string_view line);

 private:
  struct state;
  std::unique_ptr<state> state_;
};

}  // namespace digd::ingest
