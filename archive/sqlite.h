// A thin layer over SQLite's C interface. It closes what it opened, binds and reads by type, and turns result codes
// into sentences. Only .cpp files of the archive include sqlite3.h.
//
// Thread: one thread at a time uses a connection and its statements; there are no threads of its own.
// Failure: nothing throws. Every call that can fail returns a `failure`, which is false on success.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "archive/error.h"

struct sqlite3;
struct sqlite3_stmt;

namespace digd::archive {

struct failure {
  int code = 0;       // SQLite's extended result code; 0: success
  std::string words;  // a sentence for people

  // The file belongs to another program, or is not a database: archive_error::not_an_archive.
  static failure wrong_file(std::string words);
  // The ids of entries do not rise, as they do in every intact file: archive_error::corrupt.
  static failure entries_out_of_order();
  // A failure without a result code of its own: archive_error::io.
  static failure other(std::string words);

  explicit operator bool() const { return code != 0; }
  int primary() const { return code & 0xff; }  // SQLite's primary result code
  archive_error error() const;
  std::string about(const std::string& file) const;  // "FILE": words; empty if nothing failed
};

// A prepared statement. Bound texts are not copied: they must outlive the call to `step` or `run`.
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
  void bind_unless_empty(int at, std::string_view text);        // NULL if empty
  void bind_blob_unless_empty(int at, std::string_view bytes);  // NULL if empty
  void bind_row_of(const statement& other);                     // copies the columns of its row, in order

  bool step(failure& failed);  // true: there is a row; false: no more rows, or `failed` is set
  failure run();               // steps once, expects no row, resets
  void reset();

  std::int64_t integer(int column) const;
  std::string text(int column) const;  // or the bytes of a blob; empty if NULL
  bool is_null(int column) const;

  explicit operator bool() const { return handle_ != nullptr; }

 private:
  friend class connection;
  failure last_failure() const;
  struct finalizer {
    void operator()(sqlite3_stmt* handle) const;
  };
  std::unique_ptr<sqlite3_stmt, finalizer> handle_;
  int bind_error_ = 0;  // of the first `bind` that failed; the next step returns it
};

// Resets a statement at the end of its use: a statement that stays open keeps the log in use.
class statement_reset {
 public:
  explicit statement_reset(statement& used) : used_(used) {}
  ~statement_reset() { used_.reset(); }
  statement_reset(const statement_reset&) = delete;
  statement_reset& operator=(const statement_reset&) = delete;

 private:
  statement& used_;
};

enum class open_mode : std::uint8_t {
  read_only,
  read_write,
  create,  // as read_write; a missing file is created
};

class connection {
 public:
  // `vfs` names SQLite's file layer; empty: the default.
  failure open(const std::string& path, open_mode mode, const std::string& vfs);
  void close() { handle_.reset(); }
  // How long a call waits while another program holds the file; 0: it fails at once.
  void set_busy_timeout(int milliseconds);

  failure execute(const std::string& sql);
  failure prepare(std::string_view sql, statement& into);
  failure query(const std::string& sql, std::int64_t& first);  // the first column of the first row; 0 if none
  failure query(const std::string& sql, std::string& first);
  // Calls `work`, which returns a `failure`, inside a transaction: commits on success, otherwise rolls back.
  template <class Work>
  failure transaction(Work work);
  // Frees the cached pages that no statement uses. After a scan of the file they are as many as `cache_size` allows.
  void release_memory();
  bool in_transaction() const;
  std::int64_t last_inserted_row() const;
  std::int64_t changed_rows() const;  // by the last INSERT, UPDATE or DELETE
  failure last_failure() const;

  sqlite3* get() const { return handle_.get(); }
  explicit operator bool() const { return handle_ != nullptr; }

 private:
  struct closer {
    void operator()(sqlite3* handle) const;
  };
  std::unique_ptr<sqlite3, closer> handle_;
};

template <class Work>
failure connection::transaction(Work work) {
  failure failed = execute("BEGIN IMMEDIATE");
  if (!failed) failed = work();
  if (!failed) failed = execute("COMMIT");
  if (failed && in_transaction()) static_cast<void>(execute("ROLLBACK"));
  return failed;
}

}  // namespace digd::archive
