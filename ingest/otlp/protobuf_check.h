// Finds the place of an error in a protobuf message, which libprotobuf's parser does not report. Also bounds the size
// of the decoded message.
#pragma once

#include <google/protobuf/descriptor.h>

#include <cstddef>
#include <string>
#include <string_view>

namespace digd::otlp {

struct protobuf_fault {
  std::string message;     // "byte 17, resource_spans[0].scope_spans[2]: the expected value"; empty: well-formed
  bool too_large = false;  // more than `max_items` messages in it, or `max_depth` levels
};

// Walks the wire format by the descriptor. O(bytes), at most `max_depth` frames deep.
protobuf_fault check_protobuf(const google::protobuf::Descriptor& of, std::string_view bytes);

}  // namespace digd::otlp
