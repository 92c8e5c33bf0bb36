// Decodes single frames for tests.
#pragma once

#include <string>
#include <string_view>

#include "ingest/protocol/decode.h"

namespace digd::test {

// Decodes one frame; the message's views live as long as this.
struct reading {
  ingest::decoder in;
  message out;
  ingest::decoded result;

  explicit reading(std::string_view frame) { result = in.decode(frame, out); }
  refusal code() const { return result.refused.code; }
  const std::string& field() const { return result.refused.field; }
  const std::string& text() const { return result.refused.text; }
};

// The code, and the field if there is one: "bad_message agent".
inline std::string refusal_of(std::string_view frame) {
  const reading r(frame);
  std::string text{to_string(r.code())};
  if (!r.field().empty()) text += " " + r.field();
  return text;
}

// A payload in an event that is otherwise good.
inline std::string with_payload(std::string_view payload) {
  return R"({"type":"event","seq":1,"event":{"id":"e","payload":)" + std::string{payload} + "}}";
}

}  // namespace digd::test
