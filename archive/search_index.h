// search.db: a full-text index of what agents wrote, by SQLite's FTS5. It holds copies of texts of the archive, so it
// is only as complete as the archive is, and may be deleted at any time: digd then builds it again.
//
// A document is one event with a payload. Deleted runs leave no text behind: pages are overwritten (`secure_delete`)
// and the index is merged, which drops the words of deleted documents. Threads: one uses an index. Several connections
// may read the same file while one writes. Bounds: `max_text_bytes` of an event; the caller keeps the file within its
// limit with `remove_runs`. Failure: a `failure`; nothing throws.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "archive/sqlite.h"

namespace digd::archive {

struct search_document {
  std::uint64_t run_number = 0;
  std::int64_t entry = 0;  // entries.id
  std::string event, text;
};

struct search_hit {
  std::int64_t id = 0;  // descending: the newest first
  std::uint64_t run_number = 0;
  std::int64_t entry = 0;
  std::string event;
  std::string excerpt;  // the text around the first match
};

class search_index {
 public:
  static constexpr std::size_t max_text_bytes = 16'384;
  static constexpr std::size_t max_words = 16;  // of a question; further ones are ignored
  static constexpr std::uint64_t max_hits = 100;

  // Creates the file, or takes what an earlier start left. A file of another version is refused.
  failure open(const std::string& path);
  // For searching only.
  failure open_to_search(const std::string& path);

  // The last entry of the archive that is in the index.
  std::int64_t upto() const { return upto_; }
  // All or nothing.
  failure add(const std::vector<search_document>& documents, std::int64_t upto);
  failure remove_runs(const std::vector<std::uint64_t>& run_numbers);
  // Removes everything, to build the index again.
  failure clear();
  failure runs(std::vector<std::uint64_t>& run_numbers);
  failure used_bytes(std::uint64_t& bytes);

  // Documents that contain every word; the last word also matches as a prefix. Only of one run if `run_number` is not
  // 0, and only ids below `before` (0: all).
  failure search(std::string_view words, std::uint64_t run_number, std::int64_t before, std::uint64_t limit,
                 std::vector<search_hit>& hits);

 private:
  failure prepare_writing();

  connection db_;
  std::int64_t upto_ = 0;
  statement add_document_, add_text_, move_, remove_texts_, remove_documents_, search_, runs_;
};

// The question in FTS5's language: every word quoted, so that no character of it is an operator. Empty: no word.
std::string match_expression(std::string_view words, std::uint64_t run_number);

}  // namespace digd::archive
