#include "archive/sqlite.h"

#include <sqlite3.h>

#include <cstring>
#include <utility>

#include "archive/files.h"
#include "base/quote.h"

namespace digd::archive {

namespace {

const char* describe(int primary) {
  switch (primary) {
    case SQLITE_FULL: return "the disk is full";
    case SQLITE_IOERR: return "the disk reports an error";
    case SQLITE_READONLY: return "the file cannot be written to";
    case SQLITE_BUSY:
    case SQLITE_LOCKED: return "another program is writing to the file";
    case SQLITE_CORRUPT: return "the file is damaged";
    case SQLITE_NOTADB: return "the file is not an SQLite database, or its beginning is damaged";
    case SQLITE_CANTOPEN: return "the file cannot be opened";
    case SQLITE_PERM:
    case SQLITE_AUTH: return "access to the file is denied";
    case SQLITE_NOMEM: return "out of memory";
    case SQLITE_CONSTRAINT: return "the entry contradicts what is stored";
    case SQLITE_TOOBIG: return "the entry is too large";
    default: return "SQLite failed";
  }
}

failure failure_of(sqlite3* db) {
  failure failed{sqlite3_extended_errcode(db), {}};
  if (failed.code == SQLITE_OK) failed.code = SQLITE_ERROR;
  failed.words =
      std::string(describe(failed.primary())) + " (" + sqlite3_errmsg(db) + ", code " + std::to_string(failed.code);
  if (int system = sqlite3_system_errno(db); failed.primary() == SQLITE_IOERR && system != 0) {
    failed.words += std::string(", ") + std::strerror(system);
  }
  failed.words += ")";
  return failed;
}

int flags_of(open_mode mode) {
  switch (mode) {
    case open_mode::read_only: return SQLITE_OPEN_READONLY;
    case open_mode::read_write: return SQLITE_OPEN_READWRITE;
    case open_mode::create: break;
  }
  return SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
}

}  // namespace

static_assert(SQLITE_OK == 0);

std::string failure::about(const std::string& file) const {
  return *this ? digd::quoted(file) + ": " + words : std::string();
}

failure failure::wrong_file(std::string words) { return {SQLITE_NOTADB, std::move(words)}; }

failure failure::entries_out_of_order() { return {SQLITE_CORRUPT, "entries are not in the order of their ids"}; }

failure failure::other(std::string words) { return {SQLITE_ERROR, std::move(words)}; }

archive_error failure::error() const {
  switch (primary()) {
    case SQLITE_OK: return archive_error::none;
    case SQLITE_NOTADB: return archive_error::not_an_archive;
    case SQLITE_CORRUPT: return archive_error::corrupt;
    case SQLITE_BUSY:
    case SQLITE_LOCKED: return archive_error::locked;
    case SQLITE_CANTOPEN:
    case SQLITE_PERM:
    case SQLITE_AUTH:
    case SQLITE_READONLY: return archive_error::cannot_open;
    default: return archive_error::io;
  }
}

void statement::finalizer::operator()(sqlite3_stmt* handle) const { sqlite3_finalize(handle); }

void statement::bind(int at, std::int64_t value) {
  if (int rc = sqlite3_bind_int64(handle_.get(), at, value); rc != SQLITE_OK && !bind_error_) bind_error_ = rc;
}

void statement::bind(int at, std::string_view text) {
  // A null pointer would be bound as NULL: an empty view may have one.
  int rc =
      sqlite3_bind_text64(handle_.get(), at, text.data() ? text.data() : "", text.size(), SQLITE_STATIC, SQLITE_UTF8);
  if (rc != SQLITE_OK && !bind_error_) bind_error_ = rc;
}

void statement::bind(int at, const std::optional<std::string>& text) {
  text ? bind(at, std::string_view(*text)) : bind_null(at);
}

void statement::bind(int at, const std::optional<std::uint64_t>& value) { value ? bind(at, *value) : bind_null(at); }

void statement::bind(int at, const std::optional<std::int64_t>& value) { value ? bind(at, *value) : bind_null(at); }

void statement::bind_null(int at) {
  if (int rc = sqlite3_bind_null(handle_.get(), at); rc != SQLITE_OK && !bind_error_) bind_error_ = rc;
}

void statement::bind_unless_empty(int at, std::string_view text) { text.empty() ? bind_null(at) : bind(at, text); }

void statement::bind_blob_unless_empty(int at, std::string_view bytes) {
  if (bytes.empty()) return bind_null(at);
  const int code = sqlite3_bind_blob64(handle_.get(), at, bytes.data(), bytes.size(), SQLITE_STATIC);
  if (bind_error_ == SQLITE_OK) bind_error_ = code;
}

failure statement::last_failure() const { return failure_of(sqlite3_db_handle(handle_.get())); }

void statement::bind_row_of(const statement& other) {
  for (int i = 0; i < sqlite3_column_count(other.handle_.get()); ++i) {
    const int code = sqlite3_bind_value(handle_.get(), i + 1, sqlite3_column_value(other.handle_.get(), i));
    if (bind_error_ == SQLITE_OK) bind_error_ = code;
  }
}

bool statement::step(failure& failed) {
  if (bind_error_ != SQLITE_OK) {
    failed = {bind_error_, std::string(describe(bind_error_ & 0xff)) + " (" + sqlite3_errstr(bind_error_) + ")"};
    return false;
  }
  switch (sqlite3_step(handle_.get())) {
    case SQLITE_ROW: return true;
    case SQLITE_DONE: return false;
    default: failed = last_failure(); return false;
  }
}

failure statement::run() {
  failure failed;
  step(failed);
  reset();
  return failed;
}

void statement::reset() {
  sqlite3_reset(handle_.get());
  bind_error_ = SQLITE_OK;
}

std::int64_t statement::integer(int column) const { return sqlite3_column_int64(handle_.get(), column); }

std::string statement::text(int column) const {
  const auto* bytes = reinterpret_cast<const char*>(sqlite3_column_text(handle_.get(), column));
  if (bytes == nullptr) return {};
  return {bytes, static_cast<std::size_t>(sqlite3_column_bytes(handle_.get(), column))};
}

bool statement::is_null(int column) const { return sqlite3_column_type(handle_.get(), column) == SQLITE_NULL; }

void connection::closer::operator()(sqlite3* handle) const { sqlite3_close_v2(handle); }

void connection::set_busy_timeout(int milliseconds) { sqlite3_busy_timeout(get(), milliseconds); }

failure connection::open(const std::string& path, open_mode mode, const std::string& vfs) {
  if (mode == open_mode::create) create_private_file(path);
  sqlite3* raw = nullptr;
  int rc = sqlite3_open_v2(path.c_str(), &raw, flags_of(mode) | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE,
                           vfs.empty() ? nullptr : vfs.c_str());
  handle_.reset(raw);
  if (rc == SQLITE_OK) return {};
  failure failed = raw ? failure_of(raw) : failure{rc, describe(rc & 0xff)};
  handle_.reset();
  return failed;
}

failure connection::execute(const std::string& sql) {
  if (sqlite3_exec(get(), sql.c_str(), nullptr, nullptr, nullptr) == SQLITE_OK) return {};
  return last_failure();
}

failure connection::prepare(std::string_view sql, statement& into) {
  sqlite3_stmt* raw = nullptr;
  int rc =
      sqlite3_prepare_v3(get(), sql.data(), static_cast<int>(sql.size()), SQLITE_PREPARE_PERSISTENT, &raw, nullptr);
  into.handle_.reset(raw);
  into.bind_error_ = SQLITE_OK;
  return rc == SQLITE_OK ? failure{} : last_failure();
}

failure connection::query(const std::string& sql, std::int64_t& first) {
  first = 0;
  statement asked;
  failure failed = prepare(sql, asked);
  if (!failed && asked.step(failed)) first = asked.integer(0);
  return failed;
}

failure connection::query(const std::string& sql, std::string& first) {
  first.clear();
  statement asked;
  failure failed = prepare(sql, asked);
  if (!failed && asked.step(failed)) first = asked.text(0);
  return failed;
}

void connection::release_memory() { sqlite3_db_release_memory(get()); }

bool connection::in_transaction() const { return sqlite3_get_autocommit(get()) == 0; }

std::int64_t connection::last_inserted_row() const { return sqlite3_last_insert_rowid(get()); }

std::int64_t connection::changed_rows() const { return sqlite3_changes64(get()); }

failure connection::last_failure() const { return failure_of(get()); }

}  // namespace digd::archive
