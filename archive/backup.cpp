#include "archive/backup.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>

#include "archive/file_lock.h"
#include "archive/files.h"
#include "archive/salvage.h"
#include "archive/schema.h"
#include "archive/sqlite.h"
#include "base/unix_time.h"

namespace digd::archive {

namespace {

namespace fs = std::filesystem;

// A writer that checkpoints holds the file for milliseconds.
constexpr int backup_busy_ms = 10'000;

std::string in_sql(const std::string& text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("''") : std::string(1, c);
  return out + '\'';
}

open_trouble open_source(connection& db, const std::string& path) {
  std::error_code ec;
  if (!fs::exists(path, ec)) return {archive_error::cannot_open, "there is no file " + path};
  if (fs::is_directory(path, ec)) return {archive_error::cannot_open, path + " is a folder, not an archive"};
  if (failure failed = db.open(path, open_mode::read_only, {})) return failed;
  db.set_busy_timeout(backup_busy_ms);
  bool is_new = false;
  if (open_trouble found = recognise(db, is_new)) return found;
  if (is_new) return {archive_error::not_an_archive, path + " is empty"};
  return {};
}

open_trouble count_rows(connection& db, backup_result& into) {
  std::int64_t runs = 0, entries = 0;
  if (failure failed = db.query("SELECT count(*) FROM runs", runs)) return failed;
  if (failure failed = db.query("SELECT count(*) FROM entries", entries)) return failed;
  into.runs = static_cast<std::uint64_t>(runs);
  into.entries = static_cast<std::uint64_t>(entries);
  return {};
}

// Writes the content of `from` to the new file `to`, and reads it back.
open_trouble copy_checked(const std::string& from, const std::string& to, backup_result& into) {
  {
    // SQLite writes into an empty file that exists, and so keeps its permissions.
    const int made = ::open(to.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (made < 0) return {archive_error::cannot_open, "cannot create " + to + ": " + std::strerror(errno)};
    ::close(made);
    connection source;
    if (open_trouble found = open_source(source, from)) return found;
    if (failure failed = source.execute("VACUUM INTO " + in_sql(to))) return failed;
  }
  connection copy;
  if (open_trouble found = open_source(copy, to)) return found;
  if (open_trouble found = find_damage(copy, INT64_MAX)) return found;
  if (open_trouble found = count_rows(copy, into)) return found;
  std::error_code ec;
  into.bytes = fs::file_size(to, ec);
  return {};
}

class failed {
 public:
  explicit failed(std::string* problem) : problem_(problem) {}
  boost::system::error_code operator()(const open_trouble& trouble) const {
    if (problem_ != nullptr) *problem_ = trouble.words;
    return make_error_code(trouble.error);
  }

 private:
  std::string* problem_;
};

open_trouble put_in_place(const std::string& from, const std::string& to) {
  std::error_code ec = sync_file(from);
  if (!ec) fs::rename(from, to, ec);
  if (!ec) ec = sync_folder_of(to);
  if (!ec) return {};
  return {archive_error::io, "cannot write " + to + ": " + ec.message()};
}

std::string name_of_replaced(const std::string& archive) { return archive + ".replaced-" + std::to_string(unix_ms()); }

}  // namespace

std::string unfinished_copy_of(const std::string& target) { return target + ".unfinished"; }

boost::system::result<backup_result> back_up(const std::string& archive, const std::string& copy,
                                             std::string* problem) {
  const failed fail(problem);
  std::error_code ec;
  if (fs::exists(copy, ec)) return fail({archive_error::cannot_open, copy + " exists already"});
  const std::string unfinished = unfinished_copy_of(copy);
  remove_archive_file(unfinished);
  backup_result result;
  open_trouble trouble = copy_checked(archive, unfinished, result);
  if (!trouble) trouble = put_in_place(unfinished, copy);
  if (!trouble) return result;
  remove_archive_file(unfinished);
  return fail(trouble);
}

boost::system::result<backup_result> restore(const std::string& copy, const std::string& archive, bool replace,
                                             std::string* problem) {
  const failed fail(problem);
  file_lock lock;
  std::string words;
  switch (lock.take(archive + ".lock", words)) {
    case file_lock::result::taken: break;
    case file_lock::result::held_by_another:
      return fail({archive_error::locked, "a digd has the archive open; stop it first (" + words + ')'});
    case file_lock::result::failed: return fail({archive_error::cannot_open, words});
  }
  std::error_code ec;
  if (!replace && fs::exists(archive, ec)) {
    return fail(
        {archive_error::cannot_open, archive + " exists already; --replace renames it and puts the copy there"});
  }
  const std::string unfinished = unfinished_copy_of(archive);
  remove_archive_file(unfinished);
  backup_result result;
  open_trouble trouble = copy_checked(copy, unfinished, result);
  if (!trouble && fs::exists(archive, ec)) {
    result.aside = name_of_replaced(archive);
    ec = rename_archive_file(archive, result.aside);
    if (ec) trouble = {archive_error::io, "cannot rename " + archive + ": " + ec.message()};
  }
  if (!trouble) trouble = put_in_place(unfinished, archive);
  if (!trouble) {
    forget_salvage(archive);
    return result;
  }
  if (!result.aside.empty() && !fs::exists(archive, ec)) static_cast<void>(rename_archive_file(result.aside, archive));
  remove_archive_file(unfinished);
  return fail(trouble);
}

}  // namespace digd::archive
