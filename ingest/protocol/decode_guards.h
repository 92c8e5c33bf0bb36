// The field `guards` of a hello. Internal to ingest/protocol.
#pragma once

#include "ingest/protocol/frame_reader.h"
#include "model/settings.h"

namespace digd::ingest {

bool read_guards(frame_reader& in, item& it, hello& out);

}  // namespace digd::ingest
