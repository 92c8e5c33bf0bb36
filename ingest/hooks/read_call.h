// Reads the JSON of a hook call, and names the transcript that has its usage. Thread: any; a pure function.
#pragma once

#include <boost/system/result.hpp>
#include <string_view>

#include "ingest/hooks/call.h"
#include "ingest/hooks/dialect.h"

namespace digd::hooks {

boost::system::result<call, bad_call> read_call(const dialect& as, std::string_view body);

}  // namespace digd::hooks
