// Answers that a client missed while its connection was gone (`answered_seq`), from the archive.
//
// Thread: any; it reads the archive and waits for it. Bounds: one part of the range a call. Failure: an error code.
#pragma once

#include <boost/system/result.hpp>
#include <string>
#include <vector>

#include "archive/archive.h"

namespace digd::daemon {

// The next frames of the range, byte for byte as first sent. Empty: there are no more.
boost::system::result<std::vector<std::string>> read_answers(const archive::archive& from,
                                                             archive::answer_range& range);

}  // namespace digd::daemon
