// What a decoder keeps between frames. Internal to ingest.
#pragma once

#include "ingest/protocol/decode.h"
#include "ingest/protocol/frame_reader.h"
#include "ingest/protocol/name_set.h"

namespace digd::ingest {

struct decoder::state {
  frame_reader reader;
  name_set keys;  // of reactions, of labels
};

}  // namespace digd::ingest
