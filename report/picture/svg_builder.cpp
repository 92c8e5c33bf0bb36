#include "report/picture/svg_builder.h"

#include <charconv>

#include "report/picture/xml.h"

namespace digd::picture {

void append_coordinate(std::string& out, double value, coordinates format) {
  char text[400];  // the longest double has 309 digits before the point
  const int digits = format == coordinates::hundredths ? 2 : 1;
  const char* end = std::to_chars(text, text + sizeof text, value, std::chars_format::fixed, digits).ptr;
  std::string_view written(text, static_cast<std::size_t>(end - text));
  if (format == coordinates::short_tenths && written.ends_with(".0")) written.remove_suffix(2);
  out += written;
}

std::string coordinate(double value, coordinates format) {
  std::string out;
  append_coordinate(out, value, format);
  return out;
}

svg_path& svg_path::command(char letter) {
  text_ += letter;
  return *this;
}

svg_path& svg_path::number(double value) {
  append_coordinate(text_, value, format_);
  return *this;
}

svg_path& svg_path::point(double x, double y) {
  number(x);
  text_ += ' ';
  return number(y);
}

svg_path& svg_path::next(double x, double y) {
  text_ += ' ';
  return point(x, y);
}

svg_builder& svg_builder::open(std::string_view tag) {
  tag_ = tag;
  return raw("<").raw(tag);
}

svg_builder& svg_builder::attribute(std::string_view name, std::string_view value) {
  return raw(" ").raw(name).raw("=\"").raw(xml(value)).raw("\"");
}

svg_builder& svg_builder::attribute(std::string_view name, double value) {
  raw(" ").raw(name).raw("=\"");
  append_coordinate(out_, value, format_);
  return raw("\"");
}

svg_builder& svg_builder::end_empty() { return raw("/>\n"); }

svg_builder& svg_builder::content(std::string_view text) { return raw(">").raw(xml(text)).close(tag_); }

svg_builder& svg_builder::children() { return raw(">"); }

svg_builder& svg_builder::close(std::string_view tag) { return raw("</").raw(tag).raw(">\n"); }

svg_builder& svg_builder::element(std::string_view tag, std::string_view text) {
  return raw("<").raw(tag).raw(">").raw(xml(text)).raw("</").raw(tag).raw(">");
}

svg_builder& svg_builder::raw(std::string_view svg) {
  out_ += svg;
  return *this;
}

}  // namespace digd::picture
