#include "archive/verdict_text.h"

namespace digd::archive {

namespace {

bool skip(std::string_view& rest, std::string_view expected) {
  if (!rest.starts_with(expected)) return false;
  rest.remove_prefix(expected.size());
  return true;
}

bool skip_digits(std::string_view& rest) {
  auto end = rest.find_first_not_of("0123456789");
  if (end == 0 || end == std::string_view::npos) return false;
  rest.remove_prefix(end);
  return true;
}

// Takes a JSON string with its quotes, without decoding it.
bool take_string(std::string_view& rest, std::string_view& text) {
  if (!rest.starts_with('"')) return false;
  for (std::size_t i = 1; i < rest.size(); ++i) {
    if (rest[i] == '\\') {
      ++i;
    } else if (rest[i] == '"') {
      text = rest.substr(0, i + 1);
      rest.remove_prefix(i + 1);
      return true;
    }
  }
  return false;
}

// Writes the events' ids as a JSON array if every verdict is a plain `deliver`. False: one is not.
bool plain_deliveries(std::string_view frame, std::string& out) {
  std::string_view id;
  out.assign(1, '[');
  if (!skip(frame, R"({"type":"verdicts","seq":)") || !skip_digits(frame) || !skip(frame, R"(,"verdicts":[)")) {
    return false;
  }
  do {
    if (!skip(frame, R"({"event":)") || !take_string(frame, id) || !skip(frame, R"(,"action":"deliver"})")) {
      return false;
    }
    if (out.size() > 1) out += ',';
    out += id;
  } while (skip(frame, ","));
  out += ']';
  return frame == "]}";
}

}  // namespace

void compact_verdicts(std::string_view frame, std::string& out) {
  if (!plain_deliveries(frame, out)) out = frame;
}

std::string expand_verdicts(std::string_view stored, std::uint64_t seq) {
  if (!skip(stored, "[")) return std::string(stored);
  std::string frame;
  frame.append(R"({"type":"verdicts","seq":)").append(std::to_string(seq)).append(R"(,"verdicts":[)");
  std::string_view id;
  for (bool is_first = true; take_string(stored, id); is_first = false) {
    if (!is_first) frame += ',';
    frame.append(R"({"event":)").append(id).append(R"(,"action":"deliver"})");
    skip(stored, ",");
  }
  return frame += "]}";
}

}  // namespace digd::archive
