// Copies an archive while digd writes to it, and puts a copy back.
//
// A copy is one SQLite file without a log. It is complete up to one moment: it holds everything that was durable when
// the copy began. Both functions write to a file beside the target, check it, sync it and then rename it, so that the
// target is never half a copy. Readable by the owner only.
//
// Thread: any; the calls block. Cost: reads the source once and writes about as much; while a copy is made, the log of
// the source cannot shrink. Failure: an error, with a sentence for people in `problem`; the target is unchanged.
#pragma once

#include <boost/system/result.hpp>
#include <cstdint>
#include <string>

#include "archive/error.h"

namespace digd::archive {

struct backup_result {
  std::uint64_t runs = 0, entries = 0;
  std::uint64_t bytes = 0;  // of the file
  std::string aside;        // where the replaced archive is now; empty: there was none
};

// The unfinished copy that will become `target`. Its size shows the progress.
std::string unfinished_copy_of(const std::string& target);

// Fails if `copy` exists.
boost::system::result<backup_result> back_up(const std::string& archive, const std::string& copy, std::string* problem);

// Refuses while a digd has `archive` open. An archive that exists is renamed if `replace`, and otherwise refused.
boost::system::result<backup_result> restore(const std::string& copy, const std::string& archive, bool replace,
                                             std::string* problem);

}  // namespace digd::archive
