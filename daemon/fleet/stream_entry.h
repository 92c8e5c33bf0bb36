// Turns a message of the stream back into an entry of the archive, with its original texts: for a run that moves to
// another home. docs/fleet.md describes the messages. Pure functions.
#pragma once

#include <boost/json/object.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "archive/entry.h"
#include "daemon/fleet/homes/run_parts.h"

namespace digd::daemon {

struct stream_message_fields {
  boost::json::object fields;
  std::string archive;       // of the daemon that published it, from its id
  stream_line line() const;  // its views refer to this object
};

// Nothing if it is not a message that digd publishes.
std::optional<stream_message_fields> read_stream_message(std::string_view id, std::string_view body);

// Fills all members of the entry but `run_number`. Null: `problem` has the reason, for example that texts were cut.
archive::entry_ptr entry_of(const stream_message_fields& message, std::string& problem);

}  // namespace digd::daemon
