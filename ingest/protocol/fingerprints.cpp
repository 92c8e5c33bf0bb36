#include "ingest/protocol/fingerprints.h"

#include <fmt/format.h>

#include <algorithm>

#include "ingest/protocol/payloads.h"

namespace digd::ingest {

namespace {

// FNV-1a.
class hash {
 public:
  void add(std::string_view text) {
    for (const char c : text) state_ = (state_ ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
  }
  std::uint64_t value() const { return state_; }

 private:
  std::uint64_t state_ = 0xcbf29ce484222325U;
};

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

std::string text_of_digest(std::uint64_t digest) { return fmt::format("payload:{:016x}", digest); }

bool has_digests(const message& m) {
  return std::any_of(m.events.begin(), m.events.end(), [](const event_draft& e) { return e.digest.has_value(); });
}

// The events of a message stand in the frame in their order.
void append_with_fingerprints(std::string& out, std::string_view frame, const message& m) {
  std::size_t copied = 0;
  for (const event_draft& e : m.events) {
    if (!e.digest) continue;
    const std::string text = '"' + text_of_digest(e.digest->hash) + '"';
    if (e.digest->replaces_null) {
      out.append(frame.substr(copied, e.digest->offset - copied)).append(text);
      copied = e.digest->offset + std::string_view("null").size();
    } else {
      const std::size_t inside = e.digest->offset + 1;
      out.append(frame.substr(copied, inside - copied)).append("\"fingerprint\":").append(text).append(",");
      copied = inside;
    }
  }
  out.append(frame.substr(copied));
}

}  // namespace digd::ingest
