#include "daemon/metrics/prometheus.h"

#include <cstdio>

namespace digd::daemon {

namespace {

// Escapes backslashes and line ends, and in label values also quotes.
void append_escaped(std::string& out, std::string_view text, bool quote) {
  for (const char c : text) {
    if (c == '\n') {
      out += "\\n";
    } else {
      if (c == '\\' || (quote && c == '"')) out += '\\';
      out += c;
    }
  }
}

}  // namespace

void prometheus_text::family(std::string_view name, std::string_view type, std::string_view help) {
  name_ = name;
  out_.append("# HELP ").append(name).append(" ");
  append_escaped(out_, help, false);
  out_.append("\n# TYPE ").append(name).append(" ").append(type).append("\n");
}

void prometheus_text::start(std::initializer_list<label> labels, std::string_view suffix) {
  out_.append(name_).append(suffix);
  char separator = '{';
  for (const auto& [name, value] : labels) {
    out_ += separator;
    out_.append(name).append("=\"");
    append_escaped(out_, value, true);
    out_ += '"';
    separator = ',';
  }
  out_ += separator == ',' ? "} " : " ";
}

void prometheus_text::sample(std::uint64_t value, std::initializer_list<label> labels, std::string_view suffix) {
  start(labels, suffix);
  out_.append(std::to_string(value)).append("\n");
}

void prometheus_text::sample(double value, std::initializer_list<label> labels, std::string_view suffix) {
  char digits[40];
  std::snprintf(digits, sizeof digits, "%.9g", value);
  start(labels, suffix);
  out_.append(digits).append("\n");
}

}  // namespace digd::daemon
