// Where the tokens of a JSON text begin: brackets, colons, commas, strings and other scalars.
//
// The first stage of simdjson finds them, many bytes at a step. It also checks that the text is UTF-8, that strings are
// closed, and that they have no bare control characters. The grammar is the caller's to check. simdjson's own readers
// (DOM, on-demand) do more work for each token than a frame needs.
//
// Internal to ingest/protocol. Thread: one at a time. Bounds: memory grows with the longest text, which may have 2 GB.
// Behind the text are `padding` readable bytes. Lifetime: what `text` and `token` return holds until the next `open`.
#pragma once

#include <simdjson.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

namespace digd::ingest {

class json_tokens {
 public:
  static constexpr std::size_t padding = simdjson::SIMDJSON_PADDING;

  json_tokens();

  // Takes a copy of the text and goes to its first token. Returns what is wrong with the text; empty: nothing.
  std::string_view open(std::string_view text);
  void rewind() { next_ = begin_; }

  std::string_view text() const { return {buffer_.get(), size_}; }

  // ---- the next token. At the end its first byte is 0, which begins no token of JSON.
  char here() const { return buffer_[*next_]; }
  // Up to the token after it: may have trailing space.
  std::string_view token() const { return {buffer_.get() + *next_, next_[1] - *next_}; }
  void pass() { ++next_; }
  char take() { return buffer_[*next_++]; }
  // Whether all tokens have been passed.
  bool at_end() const { return next_ == end_; }
  // The first byte of the text's last token.
  char last() const { return buffer_[end_[-1]]; }

 private:
  bool reserve(std::size_t size);

  std::unique_ptr<char[]> buffer_;
  std::size_t capacity_ = 0;
  std::size_t size_ = 0;
  std::unique_ptr<simdjson::internal::dom_parser_implementation> finder_;
  const std::uint32_t* begin_ = nullptr;  // the offsets of the tokens, followed by two offsets of the text's end
  const std::uint32_t* next_ = nullptr;
  const std::uint32_t* end_ = nullptr;
};

}  // namespace digd::ingest
