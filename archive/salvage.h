// A damaged archive is set aside, and a new one begun with the runs that can still be read whole.
//
// A run is whole if its row and all its rows in the other tables can be read, and its entries are 1, 2, 3 … without a
// gap; half a run would be judged wrongly. Ids stay as they were, and none is used again. What is set aside is left as
// it is, for whoever wants to try harder.
//
// Thread: any, while nothing has the archive open. Cost: reads the whole file, and writes as much.
#pragma once

#include <boost/system/result.hpp>
#include <cstdint>
#include <string>

#include "archive/schema.h"

namespace digd::archive {

struct salvaged {
  std::string aside;  // where the damaged file is now
  std::uint64_t runs_kept = 0, entries_kept = 0;
  std::uint64_t runs_lost = 0;  // that were found, and are not whole
  bool was_readable = false;    // false: not one run could be looked for
};

// Fails if the file cannot be moved, or a new one not be made; `why` says it in words.
boost::system::result<salvaged> set_damage_aside(const std::string& path, const std::string& vfs, std::string* why);

// Before an archive is opened, by whoever holds its lock: ends a salvage that was interrupted on its last steps.
open_trouble finish_salvage(const std::string& path);

}  // namespace digd::archive
