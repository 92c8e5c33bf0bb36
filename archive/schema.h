// The shape of an archive file and how older shapes become the present one. For people: docs/archive.md.
#pragma once

#include <functional>
#include <string>
#include <utility>

#include "archive/sqlite.h"

namespace digd::archive {

inline constexpr int schema_version = 4;                    // PRAGMA user_version
inline constexpr std::int64_t application_id = 0x64696764;  // "digd", PRAGMA application_id

struct open_trouble {
  archive_error error = archive_error::none;
  std::string words;

  open_trouble() = default;
  open_trouble(archive_error e, std::string w) : error(e), words(std::move(w)) {}
  open_trouble(const failure& why)
      : error(why ? why.error() : archive_error::none), words(why.words) {}  // a failure of SQLite is one

  explicit operator bool() const { return error != archive_error::none; }
};

// Refuses, untouched, what is no archive or newer than this program; `is_new` if there is nothing in it yet.
open_trouble recognise(connection& db, bool& is_new);

// Opens a file for whoever only reads: refuses also an empty one, and one that digd has yet to bring up to date. `vfs`
// is SQLite's; empty for the usual one.
open_trouble open_to_read(connection& db, const std::string& path, const std::string& vfs = {});

// Makes a new file an archive, or brings an older one up to date, version by version, each step in one transaction:
// after a crash the file is at the version before the step or at that after it. `db` may write. `before` hears of each
// step of an older file: a step may read the whole of it.
open_trouble migrate(connection& db, bool is_new, const std::function<void(int from, int to)>& before = {});

// Damage that can be found without reading much: tables that are missing (a file cut short SQLite finds by
// itself), and in files of up to `check_bytes` whatever SQLite's quick check finds.
open_trouble look_for_damage(connection& db, std::int64_t check_bytes);

}  // namespace digd::archive
