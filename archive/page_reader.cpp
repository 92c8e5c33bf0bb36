#include "archive/page_reader.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <limits>

#include "archive/schema.h"

namespace digd::archive {

namespace {

constexpr std::size_t page_bytes = page_size;
constexpr char leaf_of_table = 13;
constexpr std::size_t leaf_header = 8;
constexpr std::size_t file_header = 100;  // before the first page's own

// How much of a row is on its own page.
constexpr std::size_t max_bytes_here = page_bytes - 35;
constexpr std::size_t min_bytes_here = (page_bytes - 12) * 32 / 255 - 23;
constexpr std::size_t bytes_there = page_bytes - 4;  // of each further page; before them is the number of the next

// The pointer map: on every 820th page, 5 bytes for each of the pages behind it.
constexpr std::size_t map_entry = 5;
constexpr std::uint32_t pages_of_map = page_bytes / map_entry;
enum class page_use : char { root = 1, free, first_overflow, overflow, inner };

constexpr std::size_t log_header = 32, frame_header = 24;
constexpr std::uint32_t log_magic = 0x377f0682;  // or with the lowest bit set: checksums of big-endian words

std::uint64_t big_endian(std::string_view bytes) {
  std::uint64_t value = 0;
  for (const char c : bytes) value = value << 8 | static_cast<unsigned char>(c);
  return value;
}

std::uint32_t word(std::string_view bytes, std::size_t at) {
  return static_cast<std::uint32_t>(big_endian(bytes.substr(at, 4)));
}

// Removes a number from the beginning. False: it is not complete.
bool take_varint(std::string_view& bytes, std::uint64_t& value) {
  value = 0;
  for (std::size_t i = 0; i < 9; ++i) {
    if (i >= bytes.size()) return false;
    const auto byte = static_cast<unsigned char>(bytes[i]);
    value = i == 8 ? value << 8 | byte : value << 7 | (byte & 0x7f);
    if (i < 8 && (byte & 0x80) != 0) continue;
    bytes.remove_prefix(i + 1);
    return true;
  }
  return false;
}

std::size_t bytes_here(std::uint64_t payload) {
  if (payload <= max_bytes_here) return payload;
  const std::size_t here = min_bytes_here + (payload - min_bytes_here) % bytes_there;
  return here <= max_bytes_here ? here : min_bytes_here;
}

bool read_at(int file, std::int64_t at, std::size_t bytes, std::string& into) {
  into.resize(bytes);
  return ::pread(file, into.data(), bytes, at) == static_cast<ssize_t>(bytes);
}

std::int64_t size_of(int file) {
  struct stat found {};
  return ::fstat(file, &found) == 0 ? found.st_size : 0;
}

struct checksum {
  bool is_big_endian = false;
  std::uint32_t first = 0, second = 0;

  void add(std::string_view bytes) {
    const auto value = [&](std::size_t at) {
      const std::uint32_t read = word(bytes, at);
      return is_big_endian ? read : __builtin_bswap32(read);
    };
    for (std::size_t i = 0; i + 8 <= bytes.size(); i += 8) {
      first += value(i) + second;
      second += value(i + 4) + first;
    }
  }
  bool is_at(std::string_view bytes, std::size_t at) const {
    return word(bytes, at) == first && word(bytes, at + 4) == second;
  }
};

// Reads one value of the serial type from the beginning of `bytes`.
bool take_value(std::uint64_t type, std::string_view& bytes, raw_value& value) {
  constexpr std::array<std::size_t, 7> integer_bytes{0, 1, 2, 3, 4, 6, 8};
  value = {};
  if (type == 0) return true;
  value.is = raw_value::type::integer;
  if (type == 8 || type == 9) {
    value.integer = type == 9;
    return true;
  }
  if (type > 6 && type < 12) return false;  // a floating-point number, which no column has, or reserved
  const std::uint64_t length = type <= 6 ? integer_bytes[type] : (type - 12) / 2;
  if (length > bytes.size()) return false;
  const std::string_view found = bytes.substr(0, length);
  bytes.remove_prefix(length);
  if (type <= 6) {
    const auto shift = static_cast<unsigned>(64 - 8 * length);
    value.integer = static_cast<std::int64_t>(big_endian(found) << shift) >> shift;
    return true;
  }
  value.is = type % 2 == 0 ? raw_value::type::blob : raw_value::type::text;
  value.bytes = found;
  return true;
}

}  // namespace

page_reader::~page_reader() {
  for (const int file : {file_, log_}) {
    if (file >= 0) ::close(file);
  }
}

bool page_reader::open(const std::string& path) {
  file_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file_ < 0) return false;
  log_ = ::open((path + "-wal").c_str(), O_RDONLY | O_CLOEXEC);
  const std::int64_t pages = size_of(file_) / page_size;
  pages_ = static_cast<std::uint32_t>(std::min<std::int64_t>(pages, std::numeric_limits<std::uint32_t>::max() - 1));
  if (log_ >= 0) read_log();
  return true;
}

// Frames count up to the last commit before the first frame whose checksum differs.
void page_reader::read_log() {
  std::string head, frame;
  if (!read_at(log_, 0, log_header, head) || (word(head, 0) & ~1U) != log_magic || word(head, 8) != page_bytes) return;
  checksum sum{.is_big_endian = (word(head, 0) & 1U) != 0};
  sum.add(std::string_view(head).substr(0, 24));
  if (!sum.is_at(head, 24)) return;
  std::vector<std::pair<std::uint32_t, std::int64_t>> uncommitted;
  const std::uint32_t pages_of_file = pages_;
  std::uint32_t highest = 0;
  const std::int64_t end = size_of(log_);
  for (std::int64_t at = log_header; at < end; at += static_cast<std::int64_t>(frame_header + page_bytes)) {
    if (!read_at(log_, at, frame_header + page_bytes, frame) || frame.compare(8, 8, head, 16, 8) != 0) return;
    sum.add(std::string_view(frame).substr(0, 8));
    sum.add(std::string_view(frame).substr(frame_header));
    if (!sum.is_at(frame, 16)) return;
    highest = std::max(highest, word(frame, 0));
    uncommitted.emplace_back(word(frame, 0), at + static_cast<std::int64_t>(frame_header));
    const std::uint32_t pages_after_commit = word(frame, 4);
    if (pages_after_commit == 0) continue;
    for (const auto& [page, place] : uncommitted) in_log_[page] = place;
    uncommitted.clear();
    pages_ = std::min(pages_after_commit, std::max(pages_of_file, highest));
  }
}

bool page_reader::read_page(std::uint32_t page, std::string& into) const {
  if (page == 0 || page > pages_) return false;
  const auto logged = in_log_.find(page);
  if (logged != in_log_.end()) return read_at(log_, logged->second, page_bytes, into);
  return read_at(file_, (std::int64_t{page} - 1) * page_size, page_bytes, into);
}

page_reader::loss page_reader::loss_of(std::uint32_t page) {
  if (page < 3 || (page - 2) % (pages_of_map + 1) == 0) return loss::none;
  const std::uint32_t map = page - (page - 2) % (pages_of_map + 1);
  if (map != map_page_) {
    map_page_ = 0;
    if (!read_page(map, map_)) return loss::root;
    map_page_ = map;
  }
  switch (static_cast<page_use>(map_[(page - map - 1) * map_entry])) {
    case page_use::free:
    case page_use::first_overflow:
    case page_use::overflow: return loss::none;
    case page_use::root: return is_of_tree(page) ? loss::none : loss::root;
    case page_use::inner: return is_of_tree(page) ? loss::none : loss::page;
  }
  return loss::root;  // the map itself is damaged
}

bool page_reader::is_of_tree(std::uint32_t page) {
  if (!read_page(page, overflow_)) return false;
  const std::string_view bytes = overflow_;
  constexpr std::string_view kinds("\x02\x05\x0a\x0d");
  const std::size_t kind = kinds.find(bytes[0]);
  const std::size_t cells = big_endian(bytes.substr(3, 2)), head = leaf_header + (kind < 2 ? 4 : 0);
  if (kind == std::string_view::npos || head + 2 * cells > bytes.size()) return false;
  for (std::size_t i = 0; i < cells; ++i) {
    const std::size_t at = big_endian(bytes.substr(head + 2 * i, 2));
    if (at < head + 2 * cells || at >= bytes.size()) return false;
  }
  return true;
}

void page_reader::each_row(std::uint32_t page, const std::function<void(const raw_row&)>& each) {
  if (!read_page(page, page_)) return;
  const std::string_view whole_page = page_;
  const std::string_view head = whole_page.substr(page == 1 ? file_header : 0);
  const std::size_t rows = big_endian(head.substr(3, 2));
  if (head[0] != leaf_of_table || head.size() < leaf_header + 2 * rows) return;
  raw_row row;
  for (std::size_t i = 0; i < rows; ++i) {
    const std::size_t at = big_endian(head.substr(leaf_header + 2 * i, 2));
    std::uint64_t bytes = 0, key = 0;
    std::string_view cell = whole_page.substr(std::min(at, whole_page.size()));
    const bool has_key = take_varint(cell, bytes) && take_varint(cell, key);
    if (!has_key || (i > 0 && static_cast<std::int64_t>(key) <= row.key)) {
      row = {};
      each(row);
      return;
    }
    row.key = static_cast<std::int64_t>(key);
    row.values.clear();
    row.is_whole = read_payload(whole_page, whole_page.size() - cell.size(), bytes) && decode(row);
    each(row);
  }
}

bool page_reader::read_payload(std::string_view page, std::size_t at, std::uint64_t bytes) {
  if (bytes > std::uint64_t{pages_} * page_bytes) return false;
  const std::size_t here = bytes_here(bytes);
  if (at + here > page.size()) return false;
  payload_.assign(page.substr(at, here));
  if (here == bytes) return true;
  if (at + here + 4 > page.size()) return false;
  std::uint32_t next = word(page, at + here);
  while (payload_.size() < bytes) {
    // digd stores no page of zeros, so such a page was overwritten.
    if (!read_page(next, overflow_) || overflow_.find_first_not_of('\0') == std::string::npos) return false;
    payload_.append(overflow_, 4, std::min<std::uint64_t>(bytes_there, bytes - payload_.size()));
    next = word(overflow_, 0);
  }
  return next == 0;  // otherwise the last page is not what it was
}

bool page_reader::decode(raw_row& row) const {
  std::string_view types = payload_;
  std::uint64_t header_bytes = 0, type = 0;
  if (!take_varint(types, header_bytes) || header_bytes > payload_.size()) return false;
  std::string_view bytes = std::string_view(payload_).substr(header_bytes);
  const std::size_t read = payload_.size() - types.size();
  if (header_bytes < read) return false;
  types = types.substr(0, header_bytes - read);
  while (!types.empty()) {
    raw_value value;
    if (!take_varint(types, type) || !take_value(type, bytes, value)) {
      row.values.clear();
      return false;
    }
    row.values.push_back(value);
  }
  return bytes.empty();
}

}  // namespace digd::archive
