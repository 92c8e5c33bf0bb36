#include "ingest/protocol/payloads.h"

#include <algorithm>

#include "base/hex.h"

namespace digd::ingest {

std::size_t end_of_string(std::string_view text, std::size_t at) {
  const std::size_t first = at + 1;
  for (std::size_t quote = first; (quote = text.find('"', quote)) != std::string_view::npos; ++quote) {
    std::size_t plain = quote;  // then come only backslashes until the quote
    while (plain > first && text[plain - 1] == '\\') --plain;
    if ((quote - plain) % 2 == 0) return quote + 1;
  }
  return text.size();
}

namespace {

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

std::size_t skip_space(std::string_view text, std::size_t at) {
  while (at < text.size() && is_space(text[at])) ++at;
  return at;
}

// The index after the value that begins at `at`.
std::size_t end_of_value(std::string_view text, std::size_t at) {
  std::size_t depth = 0;
  while (at < text.size()) {
    const char c = text[at];
    if (c == '"') {
      at = end_of_string(text, at);
      if (depth == 0) return at;
      continue;
    }
    if (c == '{' || c == '[') ++depth;
    if (c == '}' || c == ']') {
      if (depth == 0) return at;
      if (--depth == 0) return at + 1;
    }
    if (c == ',' && depth == 0) return at;
    ++at;
  }
  return at;
}

// Whether `name`, which has quotes and may have escapes, is `word`.
bool says(std::string_view name, std::string_view word) {
  name = name.substr(1, name.size() < 2 ? 0 : name.size() - 2);
  std::size_t at = 0;
  for (const char expected : word) {
    if (at >= name.size()) return false;
    if (name[at] != '\\') {
      if (name[at++] != expected) return false;
      continue;
    }
    if (at + 5 >= name.size() || name[at + 1] != 'u') return false;
    int code = 0;
    for (std::size_t i = 2; i < 6; ++i) code = code * 16 + hex_value(name[at + i]);
    if (code != expected) return false;
    at += 6;
  }
  return at == name.size();
}

class rewriter {
 public:
  rewriter(std::string_view text, std::initializer_list<std::string_view> names, const replace_member& with)
      : text_(text), names_(names), with_(with) {
    out_.reserve(text.size());
  }

  std::string run() {
    while (at_ < text_.size()) {
      if (text_[at_] == '"') {
        take_string();
      } else {
        take_other();
      }
    }
    return std::move(out_);
  }

 private:
  void take_string() {
    const std::size_t end = end_of_string(text_, at_);
    const std::string_view token = text_.substr(at_, end - at_);
    const auto name = is_name_next_ ? std::find_if(names_.begin(), names_.end(), [&](auto n) { return says(token, n); })
                                    : names_.end();
    is_name_next_ = false;
    if (name != names_.end()) return take_member(token, *name, end);
    out_.append(token);
    at_ = end;
  }

  void take_member(std::string_view token, std::string_view name, std::size_t end) {
    const std::size_t value = skip_space(text_, std::min(skip_space(text_, end) + 1, text_.size()));
    const std::size_t after = end_of_value(text_, value);
    std::size_t last = after;
    while (last > value && is_space(text_[last - 1])) --last;
    const auto replaced = with_(name, text_.substr(value, last - value));
    if (!replaced) return leave_out(after);
    out_.append(token).append(":").append(*replaced);
    at_ = after;
  }

  void leave_out(std::size_t after) {
    at_ = skip_space(text_, after);
    if (at_ < text_.size() && text_[at_] == ',') {
      at_ = skip_space(text_, at_ + 1);  // the next name takes its place
      is_name_next_ = true;
      return;
    }
    while (!out_.empty() && is_space(out_.back())) out_.pop_back();
    if (!out_.empty() && out_.back() == ',') out_.pop_back();
  }

  void take_other() {
    const char c = text_[at_++];
    if (c == '{' || c == '[') open_ += c;
    if ((c == '}' || c == ']') && !open_.empty()) open_.pop_back();
    is_name_next_ = c == '{' || (c == ',' && !open_.empty() && open_.back() == '{') || (is_name_next_ && is_space(c));
    out_ += c;
  }

  const std::string_view text_;
  const std::initializer_list<std::string_view> names_;
  const replace_member& with_;
  std::string out_;
  std::string open_;  // the brackets around
  std::size_t at_ = 0;
  bool is_name_next_ = false;  // in an object, before a name
};

}  // namespace

std::string rewrite_members(std::string_view object, std::initializer_list<std::string_view> names,
                            const replace_member& with) {
  return rewriter(object, names, with).run();
}

std::string without_payloads(std::string_view object) {
  return rewrite_members(object, {"payload"}, [](std::string_view, std::string_view) { return std::nullopt; });
}

std::string rewrite_strings(std::string_view json, const std::function<std::string(std::string_view)>& with) {
  std::string out;
  out.reserve(json.size());
  for (std::size_t at = 0; at < json.size();) {
    if (json[at] != '"') {
      out += json[at++];
      continue;
    }
    const std::size_t end = end_of_string(json, at);
    out += with(json.substr(at, end - at));
    at = end;
  }
  return out;
}

}  // namespace digd::ingest
