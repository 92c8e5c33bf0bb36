// The schema of an archive file, and the migrations from older schemas. Documented in docs/archive.md.
#pragma once

#include <boost/system/error_code.hpp>
#include <functional>
#include <string>
#include <utility>

#include "archive/sqlite.h"

namespace digd::archive {

inline constexpr int schema_version = 5;                    // PRAGMA user_version
inline constexpr std::int64_t application_id = 0x64696764;  // "digd", PRAGMA application_id
inline constexpr std::int64_t page_size = 4096;             // bytes of a page, in every archive

struct open_trouble {
  archive_error error = archive_error::none;
  std::string words;

  open_trouble() = default;
  open_trouble(archive_error e, std::string w) : error(e), words(std::move(w)) {}
  open_trouble(const failure& failed)
      : error(failed ? failed.error() : archive_error::none),
        words(failed.words) {}  // implicit: a failure of SQLite is trouble

  explicit operator bool() const { return error != archive_error::none; }
};

// Refuses a file that is not an archive, or that a newer digd wrote. Sets `is_new` if the file is empty. Changes
// nothing in the file.
open_trouble recognise(connection& db, bool& is_new);

// Opens a file for reading only. Also refuses an empty file and one of an older version, which only digd migrates.
// `vfs` names SQLite's file layer; empty: the default.
open_trouble open_to_read(connection& db, const std::string& path, const std::string& vfs = {});

// The same for a reader, which then prepares its statements. `problem`, unless it is null, is set to a sentence for
// people.
boost::system::error_code open_reader(connection& db, const std::string& path, const std::string& vfs,
                                      const std::function<failure()>& prepare, std::string* problem);

// Creates the schema in a new file, or migrates an older one, version by version. Each step is one transaction: after a
// crash, the file has the version before or after a step. `db` must be open for writing. `before` is called before each
// step of an older file, because a step may read the whole file.
open_trouble migrate(connection& db, bool is_new, const std::function<void(int from, int to)>& before = {});

// Looks for missing tables, and runs SQLite's quick check on files of up to `check_bytes`. SQLite itself notices a file
// that was cut short.
open_trouble find_damage(connection& db, std::int64_t check_bytes);

}  // namespace digd::archive
