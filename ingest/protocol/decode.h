// Decodes frames into messages, and lines of records and traces. Checks the whole JSON text. A refusal has a code, the
// field and the expected value.
//
// One decoder a thread; not thread-safe. After its buffers have grown, it decodes a small message without an
// allocation.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "ingest/protocol/record.h"
#include "model/error.h"
#include "model/message.h"
#include "model/settings.h"

namespace digd::ingest {

struct decoder_state;

struct decoded {
  refusal_note refused;  // bad_json or bad_message; the other members are then incomplete
  bool has_seq = false;  // the frame has a usable seq, even if it is refused for another reason
  std::uint64_t seq = 0;
  line_type type = line_type::message;  // hello: then only `refused` counts; decode it with `decode_hello`
};

// The facts that a reader of lines needs before it decodes one.
struct line_header {
  line_type type = line_type::message;
  std::string_view session = "main";  // a view until the decoder's next call
};

// A line that `encode_refused` wrote, back from an archive or a trace.
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

  // Decodes any message but `hello` into `out`, whose views live until the next call. `frame` need not be padded. A
  // frame may nest 64 levels around a payload of 1,000 levels; deeper nesting is bad_json. If several fields are bad,
  // the refusal names the first in the frame; missing fields come last. JSON that is not an object is bad_message
  // without a field. bad_json anywhere in the frame comes before other errors, and the frame then has no seq.
  // `digests`: whether to compute the fingerprints of events (ingest/protocol/fingerprints.h).
  decoded decode(std::string_view frame, message& out, bool digests = false);

  // Decodes a hello; `out` owns its strings. Refuses with unsupported_protocol if nothing else is wrong.
  refusal_note decode_hello(std::string_view frame, hello& out);

  // Type and session of a line of a trace. A hello counts as one only if all of it is JSON. A line with a session is a
  // client's; digd's own lines have none. A line that cannot be read counts as a message of the session "main".
  line_header header_of(std::string_view line);
  // Nothing if it is not a refusal line.
  std::optional<refused_line> refused_line_of(std::string_view line);
  std::optional<own_line> own_line_of(std::string_view line);

 private:
  std::unique_ptr<decoder_state> state_;
};

}  // namespace digd::ingest
