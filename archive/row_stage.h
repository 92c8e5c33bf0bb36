// Copies the rows that a damaged archive's pages still hold into an archive file of their own, and finds the places
// where rows are missing. salvage.cpp then copies runs from that file as it does from the damaged one.
//
// Thread: one at a time. Bounds: 40 bytes for each page with rows; one row in memory.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "archive/page_reader.h"
#include "archive/sqlite.h"

namespace digd::archive {

// The tables of a run. The runs themselves are first, and their entries second.
struct run_table {
  const char *name, *run, *key;
  const char* entry;  // the column that names the row's entry; null: rows are not in the order of entries
};
inline constexpr std::array<run_table, 6> run_tables{{{"runs", "number", "number", nullptr},
                                                      {"entries", "run", "id", "id"},
                                                      {"detections", "run", "id", "entry"},
                                                      {"interventions", "run", "row", "entry"},
                                                      {"outcomes", "run", "id", "entry"},
                                                      {"judgements", "run", "detection", nullptr}}};

// The statement that inserts a row; `names` and `places` are lists of the columns and of their parameters.
std::string insert_row_sql(const std::string& table, const std::string& names, const std::string& places);

// The part of a table that SQLite cannot read: the keys between `after` and `before`. These two are the nearest
// readable keys, or the table's ends.
struct unreadable_keys {
  bool none = false;  // SQLite can read the whole table
  std::int64_t after = 0, before = std::numeric_limits<std::int64_t>::max();
  std::int64_t after_entry = 0, before_entry = std::numeric_limits<std::int64_t>::max();
};
using unreadable_tables = std::array<unreadable_keys, run_tables.size()>;

// A range of entries that may lack rows, both ends included.
struct hole {
  std::int64_t first_entry, last_entry;
};

class row_stage {
 public:
  // Fails if the stage cannot be created or written. A damaged file that cannot be opened counts as a file without
  // rows. `is_wanted`: whether to keep the rows of a run.
  failure fill(const std::string& damaged, const std::string& path, const std::string& vfs,
               const std::function<bool(std::int64_t run)>& is_wanted);
  connection& rows() { return stage_; }
  std::int64_t highest_key(std::size_t table) const { return highest_[table]; }
  // The holes of a table, in order; none if no row and no tree page is lost. Rows are missing between two pages unless
  // their keys are consecutive: digd numbers rows in the order of their entries, and SQLite keeps them in this order. A
  // table of which no row was found counts as empty, unless a root is lost.
  std::vector<hole> holes(std::size_t table, const unreadable_keys& unreadable) const;

 private:
  struct column {
    std::string name, default_value;
    raw_value::type is = raw_value::type::text;
    bool is_required = false;
  };
  // Rows of one page without a damaged one between them.
  struct segment {
    std::int64_t first_key, last_key, first_entry, last_entry;
  };

  failure learn_columns();
  // The index of the row's table; run_tables.size(): it fits none.
  std::size_t table_of(const raw_row& row) const;
  bool fits(const raw_row& row, const std::vector<column>& columns) const;
  failure put(const raw_row& row, std::size_t table, bool& is_valid);
  void extend(const raw_row& row, std::size_t table, bool begins);

  connection stage_;
  std::array<std::vector<column>, run_tables.size()> columns_;
  std::array<std::size_t, run_tables.size()> run_at_{}, entry_at_{};  // the columns that name run and entry
  std::array<statement, run_tables.size()> insert_;
  std::array<std::int64_t, run_tables.size()> highest_{};
  page_reader::loss loss_ = page_reader::loss::none;  // the worst of all pages
  mutable std::array<std::vector<segment>, run_tables.size()> segments_;
};

}  // namespace digd::archive
