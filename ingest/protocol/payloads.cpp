#include "ingest/protocol/payloads.h"

#include <algorithm>

#include "base/json_tokens.h"

namespace digd::ingest {

namespace {

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

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
    const auto name = is_name_next_
                          ? std::find_if(names_.begin(), names_.end(), [&](auto n) { return string_is(token, n); })
                          : names_.end();
    is_name_next_ = false;
    if (name != names_.end()) return take_member(token, *name, end);
    out_.append(token);
    at_ = end;
  }

  void take_member(std::string_view token, std::string_view name, std::size_t end) {
    const std::size_t value = skip_json_space(text_, std::min(skip_json_space(text_, end) + 1, text_.size()));
    const std::size_t after = end_of_value(text_, value);
    std::size_t last = after;
    while (last > value && is_space(text_[last - 1])) --last;
    const auto replaced = with_(name, text_.substr(value, last - value));
    if (!replaced) return leave_out(after);
    out_.append(token).append(":").append(*replaced);
    at_ = after;
  }

  void leave_out(std::size_t after) {
    at_ = skip_json_space(text_, after);
    if (at_ < text_.size() && text_[at_] == ',') {
      at_ = skip_json_space(text_, at_ + 1);  // the next name takes its place
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
