#include "ingest/protocol/json_tokens.h"

#include <bit>
#include <cstring>
#include <limits>
#include <new>

namespace digd::ingest {

namespace {

constexpr std::size_t min_buffer_bytes = 16 * 1024;
constexpr std::size_t max_frame_bytes = std::numeric_limits<std::uint32_t>::max() / 2;

std::string_view explain(simdjson::error_code code) {
  switch (code) {
    case simdjson::EMPTY: return "there is no text in the frame (a binary frame is not read)";
    case simdjson::UTF8_ERROR: return "the text is not UTF-8";
    case simdjson::UNESCAPED_CHARS: return "a control character in a string is not escaped";
    case simdjson::UNCLOSED_STRING: return "a string is not closed";
    default: return simdjson::error_message(code);
  }
}

}  // namespace

json_tokens::json_tokens() {
  if (!reserve(min_buffer_bytes)) throw std::bad_alloc{};
}

// Grows by doubling.
bool json_tokens::reserve(std::size_t size) {
  if (size <= capacity_) return true;
  const std::size_t wanted = std::bit_ceil(size);
  std::unique_ptr<simdjson::internal::dom_parser_implementation> finder;
  constexpr std::size_t depth = 1;  // only simdjson's second stage reads it, and digd does not run that stage
  if (simdjson::get_active_implementation()->create_dom_parser_implementation(wanted, depth, finder) !=
      simdjson::SUCCESS)
    return false;
  finder_ = std::move(finder);
  buffer_ = std::make_unique_for_overwrite<char[]>(wanted + padding);
  capacity_ = wanted;
  return true;
}

std::string_view json_tokens::open(std::string_view text) {
  size_ = text.size();
  if (size_ > max_frame_bytes || !reserve(size_)) return "the frame is too long to be read";
  if (size_ > 0) std::memcpy(buffer_.get(), text.data(), size_);
  std::memset(buffer_.get() + size_, 0, padding);
  const auto* const bytes = reinterpret_cast<const std::uint8_t*>(buffer_.get());
  if (const auto error = finder_->stage1(bytes, size_, simdjson::stage1_mode::regular)) return explain(error);
  begin_ = next_ = finder_->structural_indexes.get();
  end_ = begin_ + finder_->n_structural_indexes;
  return {};
}

}  // namespace digd::ingest
