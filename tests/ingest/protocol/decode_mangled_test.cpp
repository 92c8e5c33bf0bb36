#include <boost/json.hpp>
#include <catch2/catch.hpp>
#include <string>

#include "ingest/protocol/frames.h"

using namespace digd;
using ingest::decoded;
using ingest::decoder;

namespace {

// What Boost.JSON, another parser altogether, makes of it.
bool valid_for_boost(std::string_view text) {
  boost::json::parse_options options;
  options.max_depth = 2000;
  boost::json::error_code error;
  boost::json::parse(text, error, {}, options);
  return !error;
}

bool is_consistent(decoder& in, std::string_view frame) {
  message out;
  const decoded result = in.decode(frame, out);
  if ((result.refused.code != refusal::bad_json) != valid_for_boost(frame)) return false;
  if (result.refused.code == refusal::bad_json) return !result.has_seq && result.refused.field.empty();
  if (result.refused.code == refusal::bad_message) return !result.refused.text.empty();
  const bool is_hello = result.type == digd::ingest::line_type::hello;
  if (result.refused || is_hello) return is_hello && !result.refused;
  if (!result.has_seq || result.seq == 0 || result.seq != out.seq) return false;
  if ((out.type == message_type::event) && out.events.size() != 1) return false;
  for (const event_draft& event : out.events) {
    if (event.id.empty() || event.id.size() > 256) return false;
  }
  return true;
}

bool hello_is_consistent(decoder& in, std::string_view frame) {
  hello out;
  const refusal_note note = in.decode_hello(frame, out);
  if ((note.code != refusal::bad_json) != valid_for_boost(frame)) return false;
  return note || (out.protocol == 1 && !out.run.empty() && !out.session.empty());
}

}  // namespace

TEST_CASE("every_beginning_of_a_frame_is_refused_or_decoded_as_another_parser_sees_it", "[decode][fuzz]") {
  decoder in;
  for (const std::string& frame : valid_frames) {
    for (std::size_t size = 0; size <= frame.size(); ++size) {
      const std::string prefix = frame.substr(0, size);
      if (is_consistent(in, prefix) && hello_is_consistent(in, prefix)) continue;
      CAPTURE(prefix);
      FAIL();
    }
  }
}

TEST_CASE("every_frame_with_one_byte_changed_is_refused_or_decoded_as_another_parser_sees_it", "[decode][fuzz]") {
  decoder in;
  std::size_t tried = 0;
  for (const std::string& frame : valid_frames) {
    for (std::size_t at = 0; at < frame.size(); ++at) {
      std::string changed = frame;
      for (int c = 0; c < 256; ++c) {
        changed[at] = static_cast<char>(c);
        ++tried;
        if (is_consistent(in, changed) && hello_is_consistent(in, changed)) continue;
        CAPTURE(changed);
        FAIL();
      }
    }
  }
  CHECK(tried > 400'000);
}

TEST_CASE("every_frame_with_one_byte_missing_or_doubled_is_refused_or_decoded", "[decode][fuzz]") {
  decoder in;
  for (const std::string& frame : valid_frames) {
    for (std::size_t at = 0; at < frame.size(); ++at) {
      std::string shorter = frame, longer = frame;
      shorter.erase(at, 1);
      longer.insert(at, 1, frame[at]);
      for (const std::string& changed : {shorter, longer}) {
        if (is_consistent(in, changed) && hello_is_consistent(in, changed)) continue;
        CAPTURE(changed);
        FAIL();
      }
    }
  }
}
