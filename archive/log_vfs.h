// SQLite's file layer for the connection that writes: it writes the log of a transaction in few large pieces. SQLite
// itself makes two system calls for each page. Between the pieces, and between the pages of a checkpoint, other threads
// get the processor (base/background_steps.h). All other files go to the layer below it.
//
// It gathers only if the layer below claims SQLITE_IOCAP_POWERSAFE_OVERWRITE, as SQLite's own does on Unix.
//
// Only for connections with `PRAGMA synchronous = FULL`: a commit then syncs the log before others may read it, and a
// sync writes what has been gathered. If a gathered write fails, that sync fails, and so does the commit.
// Thread: as SQLite's. Bounds: `max_gathered_bytes` for each open log.
#pragma once

#include <cstddef>
#include <string>

namespace digd::archive {

constexpr std::size_t max_gathered_bytes = 64u << 10;

// The name of the layer over `below`, which it registers at the first call; empty: over SQLite's default. Any thread.
// If there is no such layer, returns `below`, so that opening with it fails with SQLite's words.
std::string log_vfs(const std::string& below);

}  // namespace digd::archive
