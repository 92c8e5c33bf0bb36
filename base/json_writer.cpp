#include "base/json_writer.h"

#include <charconv>
#include <cmath>

#include "base/quote.h"

namespace digd {

namespace {

constexpr std::size_t max_number_bytes = 32;  // a double needs at most 24, a 64-bit integer at most 20

template <class value_type>
void append_number(std::string& out, value_type value) {
  char text[max_number_bytes];
  const char* end = std::to_chars(text, text + sizeof text, value).ptr;
  out.append(text, static_cast<std::size_t>(end - text));
}

}  // namespace

void json_writer::begin_value() {
  if (needs_comma_) out_ += ',';
  if (needs_new_line_) out_ += '\n';
  needs_comma_ = true;
  needs_new_line_ = false;
}

json_writer& json_writer::open(char bracket) {
  begin_value();
  out_ += bracket;
  needs_comma_ = false;
  return *this;
}

json_writer& json_writer::close(char bracket) {
  out_ += bracket;
  needs_comma_ = true;
  return *this;
}

json_writer& json_writer::new_line() {
  needs_new_line_ = true;
  return *this;
}

json_writer& json_writer::key(std::string_view name) {
  begin_value();
  append_quoted(out_, name);
  out_ += ':';
  needs_comma_ = false;
  return *this;
}

json_writer& json_writer::text(std::string_view value) {
  begin_value();
  append_quoted(out_, value);
  return *this;
}

json_writer& json_writer::number(double value) {
  if (!std::isfinite(value)) return null();
  begin_value();
  append_number(out_, value);
  return *this;
}

json_writer& json_writer::integer_text(std::int64_t value) {
  begin_value();
  append_number(out_, value);
  return *this;
}

json_writer& json_writer::integer_text(std::uint64_t value) {
  begin_value();
  append_number(out_, value);
  return *this;
}

json_writer& json_writer::raw(std::string_view json) {
  begin_value();
  out_ += json;
  return *this;
}

json_writer& json_writer::members_of(std::string_view object) {
  constexpr std::size_t braces = 2;
  if (object.size() > braces) raw(object.substr(1, object.size() - braces));
  return *this;
}

}  // namespace digd
