#include "archive/row_stage.h"

#include <sqlite3.h>

#include <algorithm>
#include <string_view>

#include "archive/files.h"
#include "archive/schema.h"

namespace digd::archive {

namespace {

constexpr std::size_t no_table = run_tables.size();

std::size_t place_of(const auto& columns, std::string_view name) {
  const auto found = std::find_if(columns.begin(), columns.end(), [&](const auto& each) { return each.name == name; });
  return static_cast<std::size_t>(found - columns.begin());
}

void bind_value(statement& into, int at, const raw_value& value) {
  switch (value.is) {
    case raw_value::type::null: return into.bind_null(at);
    case raw_value::type::integer: return into.bind(at, value.integer);
    case raw_value::type::text: return into.bind(at, value.bytes);
    case raw_value::type::blob: return into.bind_blob_unless_empty(at, value.bytes);
  }
}

}  // namespace

std::string insert_row_sql(const std::string& table, const std::string& names, const std::string& places) {
  return "INSERT INTO " + table + " (" + names + ") VALUES (" + places + ')';
}

failure row_stage::fill(const std::string& damaged, const std::string& path, const std::string& vfs,
                        const std::function<bool(std::int64_t run)>& is_wanted) {
  remove_archive_file(path);
  if (failure fault = stage_.open(path, open_mode::create, vfs)) return fault;
  make_private(path);
  if (const open_trouble trouble = migrate(stage_, true)) return failure::other(trouble.words);
  // After a crash the salvage starts again.
  if (failure fault = stage_.execute("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF")) return fault;
  if (failure fault = learn_columns()) return fault;
  page_reader reader;
  loss_ = page_reader::loss::root;
  if (!reader.open(damaged)) return {};
  loss_ = page_reader::loss::none;
  failure fault = stage_.execute("BEGIN");
  for (std::uint32_t page = 1; !fault && page <= reader.pages(); ++page) {
    loss_ = std::max(loss_, reader.loss_of(page));
    std::size_t before = no_table;
    reader.each_row(page, [&](const raw_row& row) {
      if (fault) return;
      std::size_t table = row.is_whole ? table_of(row) : no_table;
      bool is_valid = row.is_whole;
      if (table != no_table && is_wanted(table == 0 ? row.key : row.values[run_at_[table]].integer)) {
        fault = put(row, table, is_valid);
      }
      if (!is_valid) {
        table = no_table;
        loss_ = std::max(loss_, page_reader::loss::page);
      }
      if (table != no_table) extend(row, table, table != before);
      before = table;
    });
  }
  return fault ? fault : stage_.execute("COMMIT");
}

failure row_stage::learn_columns() {
  for (std::size_t i = 0; i < run_tables.size(); ++i) {
    statement found;
    const std::string sql = std::string(
                                "SELECT name, type, \"notnull\", coalesce(dflt_value, ''), pk FROM "
                                "pragma_table_info('") +
                            run_tables[i].name + "')";
    if (failure fault = stage_.prepare(sql, found)) return fault;
    failure fault;
    std::string names, places;
    while (found.step(fault)) {
      const std::string type = found.text(1);
      const bool is_key = found.integer(4) != 0;
      columns_[i].push_back({.name = found.text(0),
                             .default_value = found.text(3),
                             .is = is_key              ? raw_value::type::null
                                   : type == "INTEGER" ? raw_value::type::integer
                                   : type == "BLOB"    ? raw_value::type::blob
                                                       : raw_value::type::text,
                             .is_required = !is_key && found.integer(2) != 0});
      names += (names.empty() ? "" : ", ") + columns_[i].back().name;
      places += places.empty() ? "?" : ", ?";
    }
    if (!fault) fault = stage_.prepare(insert_row_sql(run_tables[i].name, names, places), insert_[i]);
    if (fault) return fault;
    run_at_[i] = place_of(columns_[i], run_tables[i].run);
    if (run_tables[i].entry != nullptr) entry_at_[i] = place_of(columns_[i], run_tables[i].entry);
  }
  return {};
}

// A row that is older than a column lacks it.
bool row_stage::fits(const raw_row& row, const std::vector<column>& columns) const {
  if (row.values.size() > columns.size()) return false;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const column& to = columns[i];
    if (i >= row.values.size()) {
      if (to.is_required && to.default_value.empty()) return false;
    } else if (row.values[i].is == raw_value::type::null ? to.is_required : row.values[i].is != to.is) {
      return false;
    }
  }
  return true;
}

std::size_t row_stage::table_of(const raw_row& row) const {
  if (row.values.empty() || row.values[0].is != raw_value::type::null) return no_table;
  for (std::size_t i = 0; i < run_tables.size(); ++i) {
    if (fits(row, columns_[i])) return i;  // the types and NOT NULL of the first columns differ
  }
  return no_table;
}

// `is_valid`: false if the row violates the schema, so digd did not write it.
failure row_stage::put(const raw_row& row, std::size_t table, bool& is_valid) {
  statement& into = insert_[table];
  into.bind(1, row.key);
  for (std::size_t i = 1; i < columns_[table].size(); ++i) {
    const int at = static_cast<int>(i) + 1;
    if (i < row.values.size()) {
      bind_value(into, at, row.values[i]);
    } else if (columns_[table][i].is_required) {
      into.bind(at, std::int64_t{0});  // the default of each column that was added later
    } else {
      into.bind_null(at);
    }
  }
  failure fault = into.run();
  is_valid = fault.primary() != SQLITE_CONSTRAINT && fault.primary() != SQLITE_MISMATCH;
  return is_valid ? fault : failure{};
}

void row_stage::extend(const raw_row& row, std::size_t table, bool begins) {
  highest_[table] = std::max(highest_[table], row.key);
  if (run_tables[table].entry == nullptr) return;
  const std::size_t at = entry_at_[table];
  const std::int64_t entry = at == 0 ? row.key : row.values[at].integer;
  if (begins) {
    segments_[table].push_back({row.key, row.key, entry, entry});
  } else {
    segments_[table].back().last_key = row.key;
    segments_[table].back().last_entry = entry;
  }
}

std::vector<hole> row_stage::holes(std::size_t table, const unreadable_keys& unreadable) const {
  std::vector<hole> found;
  auto& segments = segments_[table];
  const bool is_empty = segments.empty() && loss_ != page_reader::loss::root;
  if (unreadable.none || loss_ == page_reader::loss::none || is_empty) return found;
  std::sort(segments.begin(), segments.end(),
            [](const segment& a, const segment& b) { return a.first_key < b.first_key; });
  std::int64_t key = unreadable.after, entry = unreadable.after_entry;
  for (const segment& next : segments) {
    if (next.last_key <= key) continue;
    if (next.first_key >= unreadable.before) break;
    if (next.first_key > key + 1) found.push_back({entry, next.first_entry});
    key = next.last_key;
    entry = next.last_entry;
  }
  if (key < unreadable.before - 1) found.push_back({entry, unreadable.before_entry});
  return found;
}

}  // namespace digd::archive
