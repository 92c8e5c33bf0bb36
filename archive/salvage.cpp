#include "archive/salvage.h"

#include <sqlite3.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <filesystem>
#include <string_view>
#include <utility>

#include "archive/file_lock.h"
#include "archive/files.h"
#include "archive/schema.h"
#include "archive/sqlite.h"

namespace digd::archive {

namespace {

// The tables, each with its run column and its key.
struct table {
  const char *name, *run, *key;
};
constexpr std::array<table, 6> tables{{{"runs", "number", "number"},
                                       {"entries", "run", "id"},
                                       {"detections", "run", "id"},
                                       {"interventions", "run", "row"},
                                       {"outcomes", "run", "id"},
                                       {"judgements", "run", "detection"}}};

// The search ends after this many consecutive unreadable numbers.
constexpr std::int64_t max_skipped = 65'536;

// If the end of a table cannot be read, ids continue this far after the last readable one, so that none is used twice.
constexpr std::int64_t unreadable_margin = 1 << 24;

std::string name_for(const std::string& path) {
  const auto now =
      std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::system_clock::now().time_since_epoch());
  return path + ".damaged-" + std::to_string(now.count());
}

// The finished new file, before it replaces the damaged one.
constexpr const char* made_suffix = ".salvaged";

// Copies between two connections: SQLite refuses to commit while a damaged file is attached.
class salvage {
 public:
  salvage(connection& into, salvaged& tally) : new_(into), tally_(tally) {}

  // Fails only if the new archive fails. Runs that cannot be read are counted as lost.
  failure run(const std::string& damaged, const std::string& vfs) {
    if (!open_old(damaged, vfs)) return {};
    tally_.was_readable = true;
    failure fault = prepare_new();
    if (!fault) fault = new_.execute("BEGIN");
    std::int64_t last = 0;
    for (std::int64_t number = 0; !fault && next_after(last, number); last = number) fault = take(number);
    if (!fault) count_beyond(last);
    for (const table& each : tables) {
      if (!fault) fault = keep_numbers(each);
    }
    if (!fault) fault = new_.execute("COMMIT");
    return fault;
  }

 private:
  // True: the file can be searched for runs.
  bool open_old(const std::string& damaged, const std::string& vfs) {
    std::int64_t version = 0;
    if (old_.open(damaged, open_mode::read_write, vfs)) return false;  // writable, because SQLite must read its log
    sqlite3_db_config(old_.get(), SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
    if (old_.query("PRAGMA user_version", version) || version != schema_version) return false;
    for (std::size_t i = 0; i < tables.size(); ++i) {
      if (columns_of(tables[i], columns_[i])) return false;
      const std::string sql = "SELECT " + columns_[i].names + " FROM " + tables[i].name + " WHERE " + tables[i].run +
                              " = ?1" + (i == 0 ? " AND deleting = 0" : std::string(" ORDER BY ") + tables[i].key);
      if (old_.prepare(sql, read_[i])) return false;
    }
    return !old_.prepare("SELECT number FROM runs WHERE number > ?1 ORDER BY number LIMIT 1", next_);
  }

  // Finds the next readable run and counts the unreadable numbers before it as lost. False: there is none.
  bool next_after(std::int64_t last, std::int64_t& number) {
    for (std::int64_t skipped = 0; skipped < max_skipped; ++skipped) {
      failure unreadable;
      next_.bind(1, last + skipped);
      const bool found = next_.step(unreadable);
      if (found) number = next_.integer(0);
      next_.reset();
      if (found && number <= last) return false;  // a damaged index returned an earlier number
      if (found && skipped > 0) tally_.runs_lost += static_cast<std::uint64_t>(number - last - 1);
      if (found || !unreadable) return found;
    }
    return false;
  }

  // Counts the run numbers after the last readable one as lost.
  void count_beyond(std::int64_t last) {
    std::int64_t highest_run = 0;
    if (!highest(tables[0], highest_run) && highest_run > last && highest_run - last < max_skipped) {
      tally_.runs_lost += static_cast<std::uint64_t>(highest_run - last);
    }
  }

  struct columns {
    std::string names, places;
  };

  // Without generated columns: SQLite computes them again.
  failure columns_of(const table& of, columns& columns) {
    const std::string from = " FROM pragma_table_info('" + std::string(of.name) + "')";
    failure fault = old_.query("SELECT group_concat(name, ', ')" + from, columns.names);
    if (!fault) fault = old_.query("SELECT group_concat('?', ', ')" + from, columns.places);
    return fault;
  }

  failure prepare_new() {
    for (std::size_t i = 0; i < tables.size(); ++i) {
      const std::string sql = std::string("INSERT INTO ") + tables[i].name + " (" + columns_[i].names + ") VALUES (" +
                              columns_[i].places + ')';
      if (failure fault = new_.prepare(sql, write_[i])) return fault;
    }
    const std::pair<statement*, const char*> items[] = {
        {&first_gap_,
         "SELECT min(id) FROM (SELECT id, n, row_number() OVER (ORDER BY id) AS place FROM entries WHERE run = ?1)"
         " WHERE n <> place"},
        {&last_entry_, "SELECT max(id), count(*) FROM entries WHERE run = ?1"},
        {&drop_[0], "DELETE FROM entries WHERE run = ?1 AND id > ?2"},
        {&drop_[1], "DELETE FROM detections WHERE run = ?1 AND entry > ?2"},
        {&drop_[2], "DELETE FROM interventions WHERE run = ?1 AND entry > ?2"},
        {&drop_[3], "DELETE FROM outcomes WHERE run = ?1 AND entry > ?2"},
        {&drop_[4],
         "UPDATE interventions SET answered = NULL, answered_ts = NULL, answered_by = NULL"
         " WHERE run = ?1 AND answered_by > ?2"},
        {&drop_[5],
         "DELETE FROM judgements WHERE run = ?1 AND ?2 = ?2 AND detection NOT IN (SELECT id FROM detections WHERE run ="
         " ?1)"},
    };
    failure fault;
    for (const auto& [into, sql] : items) {
      if (!fault) fault = new_.prepare(sql, *into);
    }
    return fault;
  }

  // Copies the beginning of a run, up to the last whole entry.
  failure take(std::int64_t number) {
    if (failure fault = new_.execute("SAVEPOINT one")) return fault;
    std::uint64_t rows = 0;
    bool readable = true;
    if (failure fault = copy(0, number, rows, readable)) return fault;
    if (readable && rows == 0) return new_.execute("RELEASE one");  // no such run
    std::int64_t last = 0;                                          // the last entry of which all rows can be read
    bool is_cut = false;
    if (readable) {
      if (failure fault = copy_rows(number, last, is_cut)) return fault;
    }
    failure fault = keep_up_to(number, last);
    if (fault) return fault;
    if (entries_up_to(number, last) == 0) {
      ++tally_.runs_lost;
      fault = new_.execute("ROLLBACK TO one");
    } else {
      ++tally_.runs_kept;
      tally_.runs_cut += is_cut;
      tally_.entries_kept += entries_up_to(number, last);
    }
    return fault ? fault : new_.execute("RELEASE one");
  }

  // The tables behind `runs`. Of a table that cannot be read to its end, the last entry may lack rows.
  failure copy_rows(std::int64_t number, std::int64_t& last, bool& is_cut) {
    for (std::size_t i = 1; i < tables.size(); ++i) {
      std::uint64_t rows = 0;
      bool readable = true;
      if (failure fault = copy(i, number, rows, readable)) return fault;
      if (i == 1) {
        const std::int64_t gap = first_gap(number);
        static_cast<void>(entries_up_to(number, last));
        if (gap > 0) last = std::min(last, gap - 1);
        is_cut = !readable || gap > 0;
      } else if (!readable && std::string_view(tables[i].name) != "judgements") {
        std::int64_t seen = 0;
        const std::string sql = std::string("SELECT coalesce(max(entry), 0) FROM ") + tables[i].name +
                                " WHERE run = " + std::to_string(number);
        if (failure fault = new_.query(sql, seen)) return fault;
        last = std::min(last, seen - 1);
        is_cut = true;
      }
    }
    return {};
  }

  // 0: there is none.
  std::int64_t first_gap(std::int64_t number) {
    const statement_reset guard(first_gap_);
    first_gap_.bind(1, number);
    failure fault;
    return first_gap_.step(fault) ? first_gap_.integer(0) : 0;
  }

  // How many entries the new file has of the run, and the last of them.
  std::uint64_t entries_up_to(std::int64_t number, std::int64_t& last) {
    const statement_reset guard(last_entry_);
    last_entry_.bind(1, number);
    failure fault;
    if (!last_entry_.step(fault)) return 0;
    last = last_entry_.integer(0);
    return static_cast<std::uint64_t>(last_entry_.integer(1));
  }

  failure keep_up_to(std::int64_t number, std::int64_t last) {
    for (statement& drop : drop_) {
      drop.bind(1, number);
      drop.bind(2, last);
      if (failure fault = drop.run()) return fault;
    }
    return {};
  }

  failure copy(std::size_t which, std::int64_t number, std::uint64_t& rows, bool& readable) {
    statement& from = read_[which];
    from.bind(1, number);
    failure unreadable, fault;
    while (!fault && from.step(unreadable)) {
      write_[which].bind_row_of(from);
      fault = write_[which].run();
      ++rows;
    }
    from.reset();
    readable = !unreadable;
    // digd never wrote a row that violates the schema: the row is damaged.
    if (fault.primary() == SQLITE_CONSTRAINT || fault.primary() == SQLITE_MISMATCH) {
      readable = false;
      fault = {};
    }
    return fault;
  }

  // The highest number ever given out, as far as the file shows; false: the end of the table cannot be read.
  bool highest(const table& of, std::int64_t& number) {
    std::int64_t noted = 0, there = 0;
    const std::string name = of.name;
    const bool reported =
        !old_.query("SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = '" + name + "'", noted);
    const bool seen = !old_.query("SELECT coalesce(max(" + std::string(of.key) + "), 0) FROM " + name, there);
    number = std::max(noted, there);
    return reported && seen;
  }

  failure keep_numbers(const table& of) {
    std::int64_t number = 0;
    if (!highest(of, number)) number += unreadable_margin;
    const std::string name = of.name;
    if (failure fault = new_.execute("DELETE FROM sqlite_sequence WHERE name = '" + name + "'")) return fault;
    return new_.execute("INSERT INTO sqlite_sequence (name, seq) VALUES ('" + name + "', max(" +
                        std::to_string(number) + ", (SELECT coalesce(max(" + of.key + "), 0) FROM " + name + ")))");
  }

  connection& new_;
  connection old_;
  salvaged& tally_;
  std::array<columns, tables.size()> columns_;
  std::array<statement, tables.size()> read_, write_;
  std::array<statement, 6> drop_;
  statement next_, first_gap_, last_entry_;
};

}  // namespace

open_trouble finish_salvage(const std::string& path) {
  std::error_code ec;
  const std::string made = path + made_suffix;
  if (!std::filesystem::exists(made, ec)) return {};
  ec = rename_archive_file(path, name_for(path));
  if (!ec) std::filesystem::rename(made, path, ec);
  if (ec)
    return {archive_error::cannot_open, "cannot put " + made + " in the place of the damaged file: " + ec.message()};
  return {};
}

// Builds the new file beside the damaged one and then replaces it, so that an interrupted salvage restarts or
// completes.
boost::system::result<salvaged> set_damage_aside(const std::string& path, const std::string& vfs, std::string* why) {
  const auto fail = [&](archive_error error, const std::string& words) {
    if (why != nullptr) *why = words;
    return make_error_code(error);
  };
  std::string words;
  file_lock lock;
  if (lock.take(path + ".lock", words) != file_lock::result::taken) return fail(archive_error::locked, words);
  const std::string making = path + ".salvaging";
  remove_archive_file(making);
  salvaged tally;
  {
    connection db;
    if (failure fault = db.open(making, open_mode::create, vfs)) return fail(fault.error(), fault.words);
    std::error_code ignored;
    std::filesystem::permissions(making, std::filesystem::perms::owner_read | std::filesystem::perms::owner_write,
                                 ignored);
    if (const open_trouble trouble = migrate(db, true)) return fail(trouble.error, trouble.words);
    if (failure fault = salvage(db, tally).run(path, vfs)) return fail(fault.error(), fault.words);
    if (failure fault = db.execute("PRAGMA wal_checkpoint(TRUNCATE)")) return fail(fault.error(), fault.words);
  }
  std::error_code ec;
  std::filesystem::rename(making, path + made_suffix, ec);
  tally.aside = name_for(path);
  if (!ec) ec = rename_archive_file(path, tally.aside);
  if (!ec) std::filesystem::rename(path + made_suffix, path, ec);
  if (ec) return fail(archive_error::cannot_open, "cannot set the damaged file aside: " + ec.message());
  return tally;
}

}  // namespace digd::archive
