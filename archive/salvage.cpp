#include "archive/salvage.h"

#include <sqlite3.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <filesystem>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "archive/file_lock.h"
#include "archive/files.h"
#include "archive/row_stage.h"
#include "archive/schema.h"
#include "archive/sqlite.h"

namespace digd::archive {

namespace {

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

// The columns of a table without generated ones: SQLite computes them again.
failure columns_of(connection& db, const run_table& of, std::string& names, std::string& places) {
  const std::string from = " FROM pragma_table_info('" + std::string(of.name) + "')";
  failure fault = db.query("SELECT group_concat(name, ', ')" + from, names);
  if (!fault) fault = db.query("SELECT group_concat('?', ', ')" + from, places);
  return fault;
}

// Reads runs from one of two databases: the damaged file, through its B-trees, or a copy of the rows that its pages
// still hold (row_stage).
class run_source {
 public:
  explicit run_source(connection& db) : db_(db) {}

  failure prepare() {
    for (std::size_t i = 0; i < run_tables.size(); ++i) {
      std::string names, places;
      if (failure fault = columns_of(db_, run_tables[i], names, places)) return fault;
      const std::string sql = "SELECT " + names + " FROM " + run_tables[i].name + " WHERE " + run_tables[i].run +
                              " = ?1" + (i == 0 ? " AND deleting = 0" : std::string(" ORDER BY ") + run_tables[i].key);
      if (failure fault = db_.prepare(sql, rows_[i])) return fault;
    }
    return db_.prepare("SELECT number FROM runs WHERE number > ?1 ORDER BY number LIMIT 1", next_);
  }

  // A statement that returns the rows of the run in one table, in order. The caller resets it.
  statement& rows_of(std::size_t table, std::int64_t run) {
    rows_[table].bind(1, run);
    return rows_[table];
  }

  // Finds the next readable run. `lost`: the unreadable numbers before it. False: there is none.
  bool next_after(std::int64_t last, std::int64_t& number, std::set<std::int64_t>& lost) {
    for (std::int64_t skipped = 0; skipped < max_skipped; ++skipped) {
      failure unreadable;
      next_.bind(1, last + skipped);
      const bool found = next_.step(unreadable);
      if (found) number = next_.integer(0);
      next_.reset();
      if (found && number <= last) return false;  // a damaged index returned an earlier number
      if (found && skipped > 0) {
        for (std::int64_t between = last + 1; between < number && between <= last + max_skipped; ++between) {
          lost.insert(between);
        }
      }
      if (found || !unreadable) return found;
    }
    return false;
  }

 private:
  connection& db_;
  std::array<statement, run_tables.size()> rows_;
  statement next_;
};

// Sets `number` to the highest number that the file shows for a row of the table. False: there may be a higher one,
// because SQLite cannot read its own record of it, or the end of the table.
bool highest_of(connection& db, const run_table& of, std::int64_t& number) {
  std::int64_t noted = 0, there = 0;
  const std::string name = of.name;
  const bool reported =
      !db.query("SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = '" + name + "'", noted);
  const bool seen = !db.query("SELECT coalesce(max(" + std::string(of.key) + "), 0) FROM " + name, there);
  number = std::max(noted, there);
  return reported && seen;
}

// Reads a table from one end until an error or a row out of order. Sets `key` and `entry` to those of the last good
// row. True: it reached the other end.
bool read_from(connection& db, const run_table& of, bool is_backward, std::int64_t& key, std::int64_t& entry) {
  statement rows;
  const std::string sql = std::string("SELECT ") + of.key + ", " + of.entry + " FROM " + of.name + " ORDER BY " +
                          of.key + (is_backward ? " DESC" : "");
  if (db.prepare(sql, rows)) return false;
  failure unreadable;
  while (rows.step(unreadable)) {
    const std::int64_t next = rows.integer(0);
    // Out of order: damage has put another page in the place of this one.
    if (is_backward ? next >= key : next <= key) return false;
    key = next;
    entry = rows.integer(1);
  }
  return !unreadable;
}

// What SQLite can tell about each table: the highest number used, and the keys between which it cannot read the table.
// The search of the pages later raises a number if it finds a higher one.
struct known_tables {
  unreadable_tables unreadable;
  std::array<std::int64_t, run_tables.size()> highest{};
  std::array<bool, run_tables.size()> is_highest_known{};

  void read(connection& db) {
    for (std::size_t i = 0; i < run_tables.size(); ++i) {
      is_highest_known[i] = highest_of(db, run_tables[i], highest[i]);
      if (run_tables[i].entry == nullptr) continue;
      unreadable_keys& keys = unreadable[i];
      keys.none = read_from(db, run_tables[i], false, keys.after, keys.after_entry);
      if (!keys.none) read_from(db, run_tables[i], true, keys.before, keys.before_entry);
    }
  }
};

// Copies between two connections: SQLite refuses to commit while a damaged file is attached.
class salvage {
 public:
  salvage(connection& into, salvaged& tally) : new_(into), tally_(tally) {}

  // Fails only if the new archive fails. Runs that cannot be read are counted as lost.
  failure run(const std::string& damaged, const std::string& vfs) {
    failure fault = prepare_new();
    if (!fault) fault = new_.execute("BEGIN");
    known_tables known;
    bool is_of_another_version = false;
    if (!fault) fault = take_readable(damaged, vfs, known, is_of_another_version);
    const auto is_cut = [](const auto& each) { return each.second.is_cut; };
    const bool all_taken = tally_.was_readable && lost_.empty() && std::none_of(kept_.begin(), kept_.end(), is_cut);
    if (!fault && !all_taken && !is_of_another_version) fault = take_from_pages(damaged, vfs, known);
    for (std::size_t i = 0; tally_.was_readable && !fault && i < run_tables.size(); ++i) {
      fault = keep_numbers(run_tables[i], known.highest[i] + (known.is_highest_known[i] ? 0 : unreadable_margin));
    }
    if (!fault) fault = new_.execute("COMMIT");
    count();
    return fault;
  }

 private:
  struct kept_run {
    std::uint64_t entries = 0;
    bool is_cut = false;
  };

  // Copies the runs that SQLite finds in the damaged file.
  failure take_readable(const std::string& damaged, const std::string& vfs, known_tables& known,
                        bool& is_of_another_version) {
    connection old;
    std::int64_t version = 0;
    if (old.open(damaged, open_mode::read_write, vfs)) return {};  // writable, because SQLite must read its log
    sqlite3_db_config(old.get(), SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
    if (old.query("PRAGMA user_version", version)) return {};
    is_of_another_version = version != schema_version;
    run_source source(old);
    if (is_of_another_version || source.prepare()) return {};
    tally_.was_readable = true;
    failure fault;
    std::int64_t last = 0;
    for (std::int64_t number = 0; !fault && source.next_after(last, number, lost_); last = number) {
      fault = take(source, number, {});
    }
    known.read(old);
    if (!known.is_highest_known[0] && known.highest[0] - last < max_skipped) {
      for (std::int64_t beyond = last + 1; beyond <= known.highest[0]; ++beyond) lost_.insert(beyond);
    }
    return fault;
  }

  // Copies the runs that were cut or lost, from the rows that all pages hold.
  failure take_from_pages(const std::string& damaged, const std::string& vfs, known_tables& known) {
    const std::string path = damaged + ".salvaging-rows";
    failure fault = take_from_stage(damaged, path, vfs, known);
    remove_archive_file(path);
    return fault;
  }

  failure take_from_stage(const std::string& damaged, const std::string& path, const std::string& vfs,
                          known_tables& known) {
    row_stage stage;
    failure fault = stage.fill(damaged, path, vfs, [this](std::int64_t number) { return !is_kept_whole(number); });
    run_source source(stage.rows());
    if (!fault) fault = source.prepare();
    if (fault) return fault;
    std::array<std::vector<hole>, run_tables.size()> holes;
    for (std::size_t i = 0; i < run_tables.size(); ++i) {
      if (run_tables[i].entry != nullptr) holes[i] = stage.holes(i, known.unreadable[i]);
      if (stage.highest_key(i) > known.highest[i]) {
        known.highest[i] = stage.highest_key(i);
        tally_.was_readable = true;
      }
    }
    std::int64_t last = 0;
    for (std::int64_t number = 0; !fault && source.next_after(last, number, lost_); last = number) {
      fault = take(source, number, holes);
    }
    statement runs_of_entries;
    if (!fault)
      fault = stage.rows().prepare(
          "SELECT DISTINCT run FROM entries WHERE run NOT IN (SELECT number FROM runs WHERE deleting)",
          runs_of_entries);
    while (!fault && runs_of_entries.step(fault)) lost_.insert(runs_of_entries.integer(0));
    return fault;
  }

  bool is_kept_whole(std::int64_t number) const {
    const auto found = kept_.find(number);
    return found != kept_.end() && !found->second.is_cut;
  }

  void count() {
    tally_.runs_kept = kept_.size();
    for (const auto& [number, run] : kept_) {
      tally_.entries_kept += run.entries;
      tally_.runs_cut += run.is_cut;
      lost_.erase(number);
    }
    tally_.runs_lost = lost_.size();
  }

  failure prepare_new() {
    for (std::size_t i = 0; i < run_tables.size(); ++i) {
      const std::string name = run_tables[i].name;
      std::string names, places;
      if (failure fault = columns_of(new_, run_tables[i], names, places)) return fault;
      if (failure fault = new_.prepare(insert_row_sql(name, names, places), write_[i])) return fault;
      if (failure fault = new_.prepare("DELETE FROM " + name + " WHERE " + run_tables[i].run + " = ?1", remove_[i])) {
        return fault;
      }
    }
    const std::pair<statement*, const char*> items[] = {
        {&first_gap_,
         "SELECT min(id) FROM (SELECT id, n, row_number() OVER (ORDER BY id) AS place FROM entries WHERE run = ?1)"
         " WHERE n <> place"},
        {&last_before_, "SELECT coalesce(max(id), 0) FROM entries WHERE run = ?1 AND id < ?2"},
        {&last_entry_, "SELECT max(id), count(*) FROM entries WHERE run = ?1"},
        {&first_entry_within_, "SELECT coalesce(min(id), 0) FROM entries WHERE run = ?1 AND id BETWEEN ?2 AND ?3"},
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

  using holes_of_tables = std::array<std::vector<hole>, run_tables.size()>;

  // Copies the beginning of a run, up to the last whole entry, unless an earlier source had as much of it.
  failure take(run_source& from, std::int64_t number, const holes_of_tables& holes) {
    const auto earlier = kept_.find(number);
    const std::uint64_t least = earlier == kept_.end() ? 1 : earlier->second.entries + 1;
    if (failure fault = new_.execute("SAVEPOINT copied_run")) return fault;
    for (statement& remove : remove_) {
      remove.bind(1, number);
      if (failure fault = remove.run()) return fault;
    }
    std::uint64_t rows = 0;
    bool readable = true;
    if (failure fault = copy(from, 0, number, rows, readable)) return fault;
    std::int64_t last = 0;  // the last entry of which all rows can be read
    bool is_cut = false;
    if (readable && rows > 0) {
      if (failure fault = copy_rows(from, number, last, is_cut)) return fault;
      // `first_gap` finds a missing entry only if the run has a later one. The last hole shows a lost end.
      is_cut = is_cut || (!holes[1].empty() && holes[1].back().last_entry > last);
      for (std::size_t i = 2; i < run_tables.size(); ++i) end_before(holes[i], number, last, is_cut);
    }
    failure fault = keep_up_to(number, last);
    if (fault) return fault;
    const std::uint64_t entries = entries_up_to(number, last);
    if (entries >= least) {
      kept_[number] = {entries, is_cut};
    } else {
      if (!readable || rows > 0) lost_.insert(number);  // may already be kept from the earlier source
      fault = new_.execute("ROLLBACK TO copied_run");
    }
    return fault ? fault : new_.execute("RELEASE copied_run");
  }

  // Ends the run before the first of its entries that may lack rows.
  void end_before(const std::vector<hole>& holes, std::int64_t number, std::int64_t& last, bool& is_cut) {
    for (const hole& each : holes) {
      if (each.first_entry > last) break;
      const statement_reset guard(first_entry_within_);
      first_entry_within_.bind(1, number);
      first_entry_within_.bind(2, each.first_entry);
      first_entry_within_.bind(3, each.last_entry);
      failure fault;
      const std::int64_t first = first_entry_within_.step(fault) ? first_entry_within_.integer(0) : 0;
      if (first == 0) continue;
      last = std::min(last, first - 1);
      is_cut = true;
      return;
    }
  }

  // Copies the run's rows of all tables after `runs`. If reading a table fails, the entry of the last row that was read
  // may have more rows, so the run ends before this entry.
  failure copy_rows(run_source& from, std::int64_t number, std::int64_t& last, bool& is_cut) {
    for (std::size_t i = 1; i < run_tables.size(); ++i) {
      std::uint64_t rows = 0;
      bool readable = true;
      if (failure fault = copy(from, i, number, rows, readable)) return fault;
      if (i == 1) {
        const std::int64_t gap = first_gap(number);
        static_cast<void>(entries_up_to(number, last));
        if (gap > 0) last = last_before(number, gap);
        is_cut = !readable || gap > 0;
      } else if (!readable && run_tables[i].entry != nullptr) {
        std::int64_t seen = 0;
        const std::string sql = std::string("SELECT coalesce(max(entry), 0) FROM ") + run_tables[i].name +
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

  // The run's last entry with an id below `id`; 0: there is none.
  std::int64_t last_before(std::int64_t number, std::int64_t id) {
    const statement_reset guard(last_before_);
    last_before_.bind(1, number);
    last_before_.bind(2, id);
    failure fault;
    return last_before_.step(fault) ? last_before_.integer(0) : 0;
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

  failure copy(run_source& source, std::size_t which, std::int64_t number, std::uint64_t& rows, bool& readable) {
    statement& from = source.rows_of(which, number);
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

  failure keep_numbers(const run_table& of, std::int64_t highest) {
    const std::string name = of.name;
    if (failure fault = new_.execute("DELETE FROM sqlite_sequence WHERE name = '" + name + "'")) return fault;
    return new_.execute("INSERT INTO sqlite_sequence (name, seq) VALUES ('" + name + "', max(" +
                        std::to_string(highest) + ", (SELECT coalesce(max(" + of.key + "), 0) FROM " + name + ")))");
  }

  connection& new_;
  salvaged& tally_;
  std::map<std::int64_t, kept_run> kept_;
  std::set<std::int64_t> lost_;  // may name runs that a later source restored, until `count`
  std::array<statement, run_tables.size()> write_, remove_;
  std::array<statement, 6> drop_;
  statement first_gap_, last_before_, last_entry_, first_entry_within_;
};

}  // namespace

void forget_salvage(const std::string& path) { remove_archive_file(path + made_suffix); }

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

// Finishes the new file under another name before it touches the damaged one. After an interruption, the next start
// begins again or installs the finished file (finish_salvage).
boost::system::result<salvaged> set_damage_aside(const std::string& path, const std::string& vfs,
                                                 std::string* problem) {
  const auto fail = [&](archive_error error, const std::string& words) {
    if (problem != nullptr) *problem = words;
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
