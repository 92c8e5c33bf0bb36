// Moves a damaged archive aside and begins a new one with its readable runs.
//
// It keeps the beginning of each run: entries 1, 2, 3 … without a gap, up to the last one of which all rows can be
// read. That is the run as it was at that entry; digd would judge wrongly what follows a gap. Ids stay the same and are
// never reused. The damaged file is kept for other tools.
//
// Thread: any, while nothing has the archive open. Cost: reads the whole file and writes about as much.
#pragma once

#include <boost/system/result.hpp>
#include <cstdint>
#include <string>

#include "archive/schema.h"

namespace digd::archive {

struct salvaged {
  std::string aside;  // the damaged file's new path
  std::uint64_t runs_kept = 0, entries_kept = 0;
  std::uint64_t runs_cut = 0;   // those of runs_kept that lost their end
  std::uint64_t runs_lost = 0;  // runs of which the file shows a trace, but no beginning
  bool was_readable = false;    // false: the file could not be searched for runs
};

// Fails if the file cannot be moved or the new one not created; then `problem` is a sentence for people.
boost::system::result<salvaged> set_damage_aside(const std::string& path, const std::string& vfs, std::string* problem);

// Completes a salvage that was interrupted in its last steps. Called before the archive is opened, with its lock held.
open_trouble finish_salvage(const std::string& path);
// Removes what an interrupted salvage left, so that the next start does not install it. With the archive's lock held.
void forget_salvage(const std::string& path);

}  // namespace digd::archive
