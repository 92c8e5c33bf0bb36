#include "analysis/shapley/parts.h"

#include <fmt/format.h>

#include <charconv>

namespace digd::shapley {

namespace {

constexpr std::string_view parts_format = "digd.shapley.parts 1";

}  // namespace

bool part_output::add(std::size_t chunk, std::string_view part) {
  const std::uint64_t head[2] = {chunk, part.size()};
  if (parts_.size() + sizeof head + part.size() > max_output_bytes) return false;
  parts_.append(reinterpret_cast<const char*>(head), sizeof head);
  parts_ += part;
  return true;
}

std::string part_output::file() const { return fmt::format("{} {} {}\n{}", parts_format, estimate_, chunks_, parts_); }

std::string part_input::add_file(std::string text) {
  bytes_ += text.size();
  if (bytes_ > max_input_bytes) return "the parts of one estimate may have at most 1 GiB";
  const std::string expected = fmt::format("{} {} ", parts_format, estimate_);
  const std::size_t line_end = text.find('\n');
  if (!text.starts_with(parts_format) || line_end == std::string::npos) return "it has no parts of an estimate";
  if (!text.starts_with(expected)) return "its parts belong to another run, other options or another version of digd";
  std::size_t chunks = 0;
  const auto read = std::from_chars(text.data() + expected.size(), text.data() + line_end, chunks);
  if (read.ec != std::errc() || read.ptr != text.data() + line_end) return "it has no number of chunks";
  if (!texts_.empty() && chunks != chunks_) return "it has another number of chunks";
  chunks_ = chunks;
  for (std::size_t at = line_end + 1; at < text.size();) {
    std::uint64_t head[2];
    if (text.size() - at < sizeof head) return "it ends within a part";
    std::memcpy(head, text.data() + at, sizeof head);
    at += sizeof head;
    if (head[0] >= chunks || head[1] > text.size() - at) return "it ends within a part";
    places_[head[0]] = {texts_.size(), at, head[1]};
    at += head[1];
  }
  texts_.push_back(std::move(text));
  return {};
}

std::string part_input::check(std::size_t chunks) const {
  if (chunks_ != chunks) return fmt::format("the parts are of {} chunks; the estimate has {}", chunks_, chunks);
  if (places_.size() != chunks) return fmt::format("{} of {} chunks are missing", chunks - places_.size(), chunks);
  return {};
}

std::string_view part_input::part(std::size_t chunk) const {
  const auto found = places_.find(chunk);
  if (found == places_.end()) return {};
  return std::string_view(texts_[found->second.text]).substr(found->second.offset, found->second.size);
}

}  // namespace digd::shapley
