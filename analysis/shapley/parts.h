// The raw parts of an estimate, so that several machines can compute one (docs/shapley.md, "Several machines").
//
// A file begins with a line that names the estimate: its digest (cache.h) and its number of chunks. After it, each part
// has its chunk, its size and its numbers, in the byte order of x86-64 and AArch64. Merged in the order of chunks, the
// parts give the result of one machine, to the last bit. Thread: one at a time. Failure: an error sentence. Bounds:
// `max_output_bytes` in one file, `max_input_bytes` in all files of an estimate; both are in memory. Lifetime: the text
// outlives the `part_reader`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace digd::shapley {

// Appends numbers to a text.
class part_writer {
 public:
  void operator()(std::uint64_t& number) { append(&number, sizeof number); }
  void operator()(std::span<double> numbers) { append(numbers.data(), numbers.size_bytes()); }
  std::string take() { return std::move(text_); }

 private:
  void append(const void* from, std::size_t bytes) { text_.append(static_cast<const char*>(from), bytes); }

  std::string text_;
};

// Reads the numbers back, in the same order. The arrays must already have their sizes.
class part_reader {
 public:
  explicit part_reader(std::string_view text) : text_(text) {}
  void operator()(std::uint64_t& number) { copy(&number, sizeof number); }
  void operator()(std::span<double> numbers) { copy(numbers.data(), numbers.size_bytes()); }
  // Whether the text had exactly the numbers that were read.
  bool is_complete() const { return fits_ && text_.empty(); }

 private:
  void copy(void* to, std::size_t bytes) {
    fits_ = fits_ && bytes <= text_.size();
    if (!fits_) return;
    if (bytes > 0) std::memcpy(to, text_.data(), bytes);
    text_.remove_prefix(bytes);
  }

  std::string_view text_;
  bool fits_ = true;
};

// Takes the parts of the chunks [chunks · share / shares, chunks · (share + 1) / shares).
class part_output {
 public:
  static constexpr std::size_t max_output_bytes = std::size_t{256} << 20;

  part_output(std::string estimate, std::size_t share, std::size_t shares)
      : estimate_(std::move(estimate)), share_(share), shares_(shares) {}

  void begin(std::size_t chunks) { chunks_ = chunks; }
  std::size_t first() const { return chunks_ * share_ / shares_; }
  std::size_t end() const { return chunks_ * (share_ + 1) / shares_; }
  // False if the part does not fit into `max_output_bytes`.
  bool add(std::size_t chunk, std::string_view part);
  std::string file() const;

 private:
  std::string estimate_, parts_;
  std::size_t share_, shares_, chunks_ = 0;
};

// The parts of all files of an estimate.
class part_input {
 public:
  static constexpr std::size_t max_input_bytes = std::size_t{1} << 30;

  explicit part_input(std::string estimate) : estimate_(std::move(estimate)) {}

  std::string add_file(std::string text);
  // An error sentence unless the files have every chunk of this number.
  std::string check(std::size_t chunks) const;
  // Empty if no file has this chunk.
  std::string_view part(std::size_t chunk) const;

 private:
  std::string estimate_;
  std::vector<std::string> texts_;
  struct place {
    std::size_t text, offset, size;
  };
  std::map<std::size_t, place> places_;
  std::size_t chunks_ = 0, bytes_ = 0;
};

}  // namespace digd::shapley
