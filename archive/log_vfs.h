// SQLite's file layer (VFS) for the connection that writes. SQLite makes two system calls for each page of the log;
// this layer gathers the writes of a transaction into few large ones. Between these, and between the pages of a
// checkpoint, it yields the processor to other threads (base/background_steps.h). It passes all other files to the
// layer below.
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

// Returns the name of the layer over `below` (empty: SQLite's default), and registers it at the first call. If there is
// no layer `below`, it returns `below`: opening a file with that name then fails with SQLite's error. Any thread.
std::string log_vfs(const std::string& below);

}  // namespace digd::archive
