// A thin hold on SQLite's C interface: closes what it opened, binds and reads by type, turns result codes
// into words.
//
// Threads: none of its own; a connection and its statements are used by one thread at a time.
// Failure: nothing throws; every call that can fail returns a `failure`, which is false if all went well.
#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "archive/error.h"

namespace digd::archive {

struct failure {
  int code = SQLITE_OK;  // SQLite's extended result code
  std::string words;     // what went wrong, for people

  explicit operator bool() const { return code != SQLITE_OK; }
  int primary() const { return code & 0xff; }
  archive_error error() const;
};

// A prepared statement. Bound texts are not copied: they outlive the call to `step` or `run`.
class statement {
 public:
  void bind(int at, std::int64_t value);
  void bind(int at, std::uint64_t value) { bind(at, static_cast<std::int64_t>(value)); }
  void bind(int at, bool value) { bind(at, std::int64_t{value}); }
  void bind(int at, std::string_view text);
  void bind(int at, const std::optional<std::string>& text);
  void bind(int at, const std::optional<std::uint64_t>& value);
  void bind(int at, const std::optional<std::int64_t>& value);
  void bind_null(int at);
  void bind_unless_empty(int at, std::string_view text);  // NULL if empty
  void bind_row_of(const statement& other);               // its columns in order, copied

  bool step(failure& why);  // true: there is a row. False: done, or `why` is set
  failure run();            // steps once, expects no row, resets
  void reset();

  std::int64_t integer(int column) const;
  std::string text(int column) const;  // empty if NULL
  bool is_null(int column) const;

  explicit operator bool() const { return handle_ != nullptr; }

 private:
  friend class connection;
  failure last_failure() const;
  struct finalizer {
    void operator()(sqlite3_stmt* sqlite3_stmt) const { sqlite3_finalize(sqlite3_stmt); }
  };
  std::unique_ptr<sqlite3_stmt, finalizer> handle_;
  int bind_error_ = SQLITE_OK;  // the first; told by the next step
};

class connection {
 public:
  // `vfs` empty: SQLite's default.
  failure open(const std::string& path, int flags, const std::string& vfs);
  void close() { handle_.reset(); }

  failure execute(const std::string& sql);
  failure prepare(std::string_view sql, statement& into);
  failure query(const std::string& sql, std::int64_t& first);  // the first column of the first row; 0 if none
  failure query(const std::string& sql, std::string& first);
  bool in_transaction() const;
  failure last_failure() const;

  sqlite3* get() const { return handle_.get(); }
  explicit operator bool() const { return handle_ != nullptr; }

 private:
  struct closer {
    void operator()(sqlite3* sqlite3) const { sqlite3_close_v2(sqlite3); }
  };
  std::unique_ptr<sqlite3, closer> handle_;
};

}  // namespace digd::archive
