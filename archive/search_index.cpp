#include "archive/search_index.h"

#include <algorithm>
#include <utility>

#include "archive/files.h"

namespace digd::archive {

namespace {

constexpr std::int64_t search_schema_version = 1;
constexpr std::int64_t search_application_id = 0x64696766;  // "digf"
constexpr int max_wait_ms = 2'000;

// `scope` of a text is the word rN for the run with the number N, so that a search of one run reads only its own.
constexpr const char* schema = R"sql(
CREATE TABLE position (entry INTEGER NOT NULL) STRICT;  -- one row
INSERT INTO position VALUES (0);
CREATE TABLE documents (
  id    INTEGER PRIMARY KEY,  -- also the rowid of its text
  run   INTEGER NOT NULL,     -- runs.number of the archive
  entry INTEGER NOT NULL,     -- entries.id of the archive
  event TEXT NOT NULL
) STRICT;
CREATE INDEX documents_by_run ON documents (run);
CREATE VIRTUAL TABLE texts USING fts5(scope, text, tokenize = 'unicode61');
)sql";

bool is_word_byte(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte >= 0x80 || (byte >= '0' && byte <= '9') || (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z');
}

std::string scope_of(std::uint64_t run_number) { return 'r' + std::to_string(run_number); }

}  // namespace

std::string match_expression(std::string_view words, std::uint64_t run_number) {
  std::string out;
  std::size_t count = 0;
  for (std::size_t at = 0; at < words.size() && count < search_index::max_words;) {
    if (!is_word_byte(words[at])) {
      ++at;
      continue;
    }
    const std::size_t begin = at;
    while (at < words.size() && is_word_byte(words[at])) ++at;
    out += out.empty() ? "\"" : " AND \"";
    out.append(words.substr(begin, at - begin)) += '"';
    ++count;
  }
  if (out.empty()) return out;
  out = "text : (" + out + " *)";  // the last word may be the beginning of a longer one
  return run_number == 0 ? out : "scope : " + scope_of(run_number) + " AND " + out;
}

failure search_index::open(const std::string& path) {
  create_private_file(path);
  failure failed = db_.open(path, open_mode::create, {});
  if (failed) return failed;
  db_.set_busy_timeout(max_wait_ms);
  std::int64_t id = 0, version = 0, objects = 0;
  failed = db_.query("PRAGMA application_id", id);
  if (!failed) failed = db_.query("PRAGMA user_version", version);
  if (!failed) failed = db_.query("SELECT count(*) FROM sqlite_schema", objects);
  if (failed) return failed;
  if (id != search_application_id || version != search_schema_version) {
    if (id != 0 || objects > 0)
      return failure::wrong_file("another program, or another version of digd, wrote the file");
    failed = db_.execute("PRAGMA auto_vacuum = INCREMENTAL; PRAGMA journal_mode = WAL");
    if (!failed) {
      failed = db_.transaction([&] {
        return db_.execute(schema + std::string("PRAGMA application_id = ") + std::to_string(search_application_id) +
                           "; PRAGMA user_version = " + std::to_string(search_schema_version));
      });
    }
  }
  // The index can be built again, so a lost commit costs nothing but time.
  if (!failed)
    failed = db_.execute("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA secure_delete = ON");
  if (!failed) failed = db_.query("SELECT entry FROM position", upto_);
  return failed ? failed : prepare_writing();
}

failure search_index::prepare_writing() {
  const std::pair<statement*, std::string_view> statements[] = {
      {&add_document_, "INSERT INTO documents (run, entry, event) VALUES (?1, ?2, ?3)"},
      {&add_text_, "INSERT INTO texts (rowid, scope, text) VALUES (?1, ?2, ?3)"},
      {&move_, "UPDATE position SET entry = ?1"},
      {&remove_texts_, "DELETE FROM texts WHERE rowid IN (SELECT id FROM documents WHERE run = ?1)"},
      {&remove_documents_, "DELETE FROM documents WHERE run = ?1"},
      {&runs_, "SELECT DISTINCT run FROM documents ORDER BY run"},
  };
  failure failed;
  for (const auto& [prepared, sql] : statements) {
    if (!failed) failed = db_.prepare(sql, *prepared);
  }
  return failed;
}

failure search_index::open_to_search(const std::string& path) {
  if (failure failed = db_.open(path, open_mode::read_only, {})) return failed;
  db_.set_busy_timeout(max_wait_ms);
  return db_.prepare(
      "SELECT d.id, d.run, d.entry, d.event, snippet(texts, 1, '', '', '…', 24)"
      " FROM texts JOIN documents AS d ON d.id = texts.rowid"
      " WHERE texts MATCH ?1 AND texts.rowid < ?2 ORDER BY texts.rowid DESC LIMIT ?3",
      search_);
}

failure search_index::add(const std::vector<search_document>& documents, std::int64_t upto) {
  failure failed = db_.transaction([&] {
    for (const search_document& document : documents) {
      add_document_.bind(1, document.run_number);
      add_document_.bind(2, document.entry);
      add_document_.bind(3, std::string_view(document.event));
      if (failure fault = add_document_.run()) return fault;
      const std::string scope = scope_of(document.run_number);
      add_text_.bind(1, db_.last_inserted_row());
      add_text_.bind(2, std::string_view(scope));
      add_text_.bind(3, std::string_view(document.text));
      if (failure fault = add_text_.run()) return fault;
    }
    move_.bind(1, upto);
    return move_.run();
  });
  if (!failed) upto_ = upto;
  return failed;
}

failure search_index::remove_runs(const std::vector<std::uint64_t>& run_numbers) {
  if (run_numbers.empty()) return {};
  failure failed = db_.transaction([&] {
    for (const std::uint64_t number : run_numbers) {
      remove_texts_.bind(1, number);
      if (failure fault = remove_texts_.run()) return fault;
      remove_documents_.bind(1, number);
      if (failure fault = remove_documents_.run()) return fault;
    }
    // FTS5 keeps the words of deleted documents until their part of the index is merged.
    return db_.execute("INSERT INTO texts (texts) VALUES ('optimize')");
  });
  if (!failed) failed = db_.execute("PRAGMA incremental_vacuum; PRAGMA wal_checkpoint(TRUNCATE)");
  return failed;
}

failure search_index::clear() {
  failure failed = db_.transaction(
      [&] { return db_.execute("DELETE FROM texts; DELETE FROM documents; UPDATE position SET entry = 0"); });
  if (failed) return failed;
  upto_ = 0;
  return db_.execute("PRAGMA incremental_vacuum; PRAGMA wal_checkpoint(TRUNCATE)");
}

failure search_index::runs(std::vector<std::uint64_t>& run_numbers) {
  const statement_reset guard(runs_);
  failure failed;
  while (runs_.step(failed)) run_numbers.push_back(static_cast<std::uint64_t>(runs_.integer(0)));
  return failed;
}

failure search_index::used_bytes(std::uint64_t& bytes) {
  std::int64_t pages = 0, free = 0, size = 0;
  failure failed = db_.query("PRAGMA page_count", pages);
  if (!failed) failed = db_.query("PRAGMA freelist_count", free);
  if (!failed) failed = db_.query("PRAGMA page_size", size);
  bytes = static_cast<std::uint64_t>((pages - free) * size);
  return failed;
}

failure search_index::search(std::string_view words, std::uint64_t run_number, std::int64_t before, std::uint64_t limit,
                             std::vector<search_hit>& hits) {
  const std::string expression = match_expression(words, run_number);
  if (expression.empty()) return {};
  const statement_reset guard(search_);
  search_.bind(1, std::string_view(expression));
  search_.bind(2, before == 0 ? INT64_MAX : before);
  search_.bind(3, std::min(limit, max_hits));
  failure failed;
  while (search_.step(failed)) {
    hits.push_back({.id = search_.integer(0),
                    .run_number = static_cast<std::uint64_t>(search_.integer(1)),
                    .entry = search_.integer(2),
                    .event = search_.text(3),
                    .excerpt = search_.text(4)});
  }
  return failed;
}

}  // namespace digd::archive
