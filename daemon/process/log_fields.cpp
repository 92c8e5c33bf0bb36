#include "daemon/process/log_fields.h"

#include <algorithm>
#include <set>

#include "base/quote.h"

namespace digd::daemon {

namespace {

constexpr std::size_t max_digits = 15;  // every JSON reader has such integers exactly

bool is_name(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
  });
}

bool is_integer(std::string_view text) {
  if (text.empty() || text.size() > max_digits || (text.size() > 1 && text.front() == '0')) return false;
  return std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

// The length of the JSON string at the beginning of `text`; 0: it does not end.
std::size_t string_length(std::string_view text) {
  for (std::size_t i = 1; i < text.size(); ++i) {
    if (text[i] == '\\') ++i;
    else if (text[i] == '"') return i + 1;
  }
  return 0;
}

class field_reader {
 public:
  explicit field_reader(std::string_view line) : rest_(line) {}

  std::string run() {
    const std::size_t end = rest_.find_first_of(" :");
    const std::string_view event = rest_.substr(0, end);
    if (!is_name(event)) return member("message", digd::quoted(rest_)), std::move(out_);
    member("event", digd::quoted(event));
    rest_.remove_prefix(event.size());
    while (pair()) {
    }
    while (rest_.starts_with(' ') || rest_.starts_with(':')) rest_.remove_prefix(1);
    if (!rest_.empty()) member("message", digd::quoted(rest_));
    return std::move(out_);
  }

 private:
  // False: no further pair begins here.
  bool pair() {
    if (!rest_.starts_with(' ')) return false;
    const std::string_view text = rest_.substr(1);
    const std::size_t equals = text.find('=');
    if (equals == std::string_view::npos || !is_name(text.substr(0, equals))) return false;
    const std::string_view name = text.substr(0, equals), from = text.substr(equals + 1);
    const bool is_string = from.starts_with('"');
    std::size_t length = is_string ? string_length(from) : std::min(from.find(' '), from.size());
    if (is_string && length == 0) return false;
    if (!is_string && length > 0 && from[length - 1] == ':') --length;  // text follows
    const std::string_view value = from.substr(0, length);
    const bool plain = is_string || is_integer(value) || value == "true" || value == "false";
    if (!member(name, plain ? std::string(value) : digd::quoted(value))) return false;
    rest_ = from.substr(length);
    return true;
  }

  // False: the name is taken.
  bool member(std::string_view name, const std::string& value) {
    if (name == "time" || name == "level" || !names_.insert(std::string(name)).second) return false;
    if (!out_.empty()) out_ += ',';
    digd::append_quoted(out_, name);
    out_ += ':';
    out_ += value;
    return true;
  }

  std::string_view rest_;
  std::set<std::string> names_;
  std::string out_;
};

}  // namespace

std::string log_fields(std::string_view line) { return field_reader(line).run(); }

}  // namespace digd::daemon
