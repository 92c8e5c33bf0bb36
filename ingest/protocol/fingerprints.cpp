#include "ingest/protocol/fingerprints.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/hex.h"
#include "base/json_tokens.h"

namespace digd::ingest {

namespace {

// A hash of bytes that come in pieces; where the pieces end does not matter. Eight bytes a step: a payload can be long.
// The same on every machine with this byte order, since archives and traces keep fingerprints.
class hash {
 public:
  void add(std::string_view text) {
    length_ += text.size();
    if (used_ == 0) add_words(text);
    while (!text.empty()) {
      const std::size_t n = std::min(text.size(), sizeof word_ - used_);
      std::memcpy(reinterpret_cast<char*>(&word_) + used_, text.data(), n);
      used_ += n;
      text.remove_prefix(n);
      if (used_ < sizeof word_) return;
      mix();
      add_words(text);
    }
  }
  std::uint64_t value() {
    mix();
    word_ = length_;
    mix();
    return state_;
  }

 private:
  void add_words(std::string_view& text) {
    for (; text.size() >= sizeof word_; text.remove_prefix(sizeof word_)) {
      std::memcpy(&word_, text.data(), sizeof word_);
      mix();
    }
  }

  void mix() {
    state_ = (state_ ^ word_) * 0x9E3779B97F4A7C15U;  // odd, bits well spread: 2^64 over the golden ratio
    state_ ^= state_ >> 32;
    word_ = 0;
    used_ = 0;
  }

  std::uint64_t state_ = 0xcbf29ce484222325U, word_ = 0, length_ = 0;
  std::size_t used_ = 0;  // bytes of `word_`
};
static_assert(std::endian::native == std::endian::little);

}  // namespace

std::uint64_t hash_of_fingerprint(std::string_view text) {
  hash h;
  h.add(text);
  return h.value();
}

std::uint64_t digest_of_payload(std::string_view text) {
  hash h;
  std::size_t depth = 0;
  for (std::size_t at = 0; at < text.size();) {
    const char c = text[at];
    if (c == '"') {
      const std::size_t end = end_of_string(text, at);
      h.add(text.substr(at, end - at));
      at = end;
      if (depth == 0) break;
      continue;
    }
    if (depth == 0 && (c == ',' || c == '}' || c == ']')) break;  // behind a number or a word
    if (c == '{' || c == '[') ++depth;
    const bool is_space = c == ' ' || c == '\t' || c == '\n' || c == '\r';
    if (!is_space) h.add(text.substr(at, 1));
    ++at;
    if ((c == '}' || c == ']') && --depth == 0) break;
  }
  return h.value();
}

digest_text text_of_digest(std::uint64_t digest) {
  digest_text text{'p', 'a', 'y', 'l', 'o', 'a', 'd', ':'};
  for (std::size_t i = text.size(); i-- > text.size() - 16; digest >>= 4) text[i] = hex_digits[digest & 15];
  return text;
}

bool has_digests(const message& m) {
  return std::any_of(m.events.begin(), m.events.end(), [](const event_draft& e) { return e.digest.has_value(); });
}

// The events of a message stand in the frame in their order.
void append_with_fingerprints(std::string& out, std::string_view frame, const message& m) {
  std::size_t copied = 0;
  for (const event_draft& e : m.events) {
    if (!e.digest) continue;
    const digest_text text = text_of_digest(e.digest->hash);
    if (e.digest->replaces_null) {
      out.append(frame.substr(copied, e.digest->offset - copied)).append("\"").append(view_of(text)).append("\"");
      copied = e.digest->offset + std::string_view("null").size();
    } else {
      const std::size_t inside = e.digest->offset + 1;
      out.append(frame.substr(copied, inside - copied))
          .append("\"fingerprint\":\"")
          .append(view_of(text))
          .append("\",");
      copied = inside;
    }
  }
  out.append(frame.substr(copied));
}

}  // namespace digd::ingest
