// Reads rows of a damaged archive from the pages that hold them, without the trees that lead to these pages. SQLite
// reaches a row through inner pages and indexes; if one of them is lost, so is everything behind it. A page with rows
// is complete in itself, except for long values, which continue on further pages.
//
// Formats: https://www.sqlite.org/fileformat.html, sections 1.6 to 1.8 (pages), 2.1 (records) and 4 (the log).
//
// Client text cannot imitate a page with rows. Such a page begins with the byte 13. A page of text begins with the
// number of another page, so its first byte is below 13 in every file below 800 GB.
//
// Thread: one at a time, while nothing else has the file open: closing it would end SQLite's locks on it.
// Failure: what cannot be read is left out. Bounds: one row in memory; of the log 8 bytes for each page.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace digd::archive {

struct raw_value {
  enum class type : std::uint8_t { null, integer, text, blob } is = type::null;
  std::int64_t integer = 0;
  std::string_view bytes;  // of a text or blob
};

struct raw_row {
  std::int64_t key = 0;
  bool is_whole = false;          // false: damaged
  std::vector<raw_value> values;  // the first is null: SQLite stores the key elsewhere
};

class page_reader {
 public:
  page_reader() = default;
  ~page_reader();
  page_reader(const page_reader&) = delete;
  page_reader& operator=(const page_reader&) = delete;

  // False: the file cannot be opened. A log with the name of SQLite's counts as far as it was committed.
  bool open(const std::string& path);
  std::uint32_t pages() const { return pages_; }
  // Calls `each` for the rows of a page, in the order of their keys. It stops after a row without a key, or with a key
  // that is not larger than the one before; that row is not whole. Nothing if the page holds no rows of a table. The
  // row is valid during the call.
  void each_row(std::uint32_t page, const std::function<void(const raw_row&)>& each);
  // Whether the pointer map lists the page as part of a tree although the page does not look like one. `root`: it is
  // listed as a root, or the map is damaged. The first page, which has no place in the map, never counts.
  enum class loss : std::uint8_t { none, page, root };
  loss loss_of(std::uint32_t page);

 private:
  void read_log();
  bool read_page(std::uint32_t page, std::string& into) const;
  bool is_of_tree(std::uint32_t page);
  bool read_payload(std::string_view page, std::size_t at, std::uint64_t bytes);
  bool decode(raw_row& row) const;

  int file_ = -1, log_ = -1;
  std::uint32_t pages_ = 0;
  std::unordered_map<std::uint32_t, std::int64_t> in_log_;  // page to its latest place in the log
  std::string page_, overflow_, payload_;
  std::string map_;  // the part of the pointer map that was used last, and its page
  std::uint32_t map_page_ = 0;
};

}  // namespace digd::archive
