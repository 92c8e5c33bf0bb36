// The state that a decoder keeps between frames. Internal to ingest/protocol.
#pragma once

#include <string_view>

#include "ingest/protocol/frame_reader.h"
#include "ingest/protocol/name_set.h"
#include "ingest/protocol/record.h"

namespace digd::ingest {

struct decoder_state {
  frame_reader reader;
  name_set keys;  // of reactions, of labels
};

// `message` for every type of message, and for unknown types.
line_type line_type_from(std::string_view type);

}  // namespace digd::ingest
