// Writes SVG elements at the end of a string, for every picture that digd makes. Attributes in the order of the calls;
// texts and attribute values are escaped (xml.h). Same calls, same bytes.
//
// The builder does not check that elements nest. Ownership: the string belongs to the caller and outlives the builder.
// Thread: as for the string. Failure: none.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace digd::picture {

// How coordinates are written.
enum class coordinates : std::uint8_t {
  tenths,        // 12.0
  short_tenths,  // 12, but 12.5
  hundredths,    // 12.00
};

void append_coordinate(std::string& out, double value, coordinates format);
std::string coordinate(double value, coordinates format);

// The `d` of a path: SVG's commands with absolute coordinates.
class svg_path {
 public:
  explicit svg_path(coordinates format) : format_(format) {}

  svg_path& move(double x, double y) { return command('M').point(x, y); }
  svg_path& line(double x, double y) { return command('L').point(x, y); }
  svg_path& horizontal(double x) { return command('H').number(x); }
  svg_path& vertical(double y) { return command('V').number(y); }
  svg_path& quadratic(double cx, double cy, double x, double y) { return command('Q').point(cx, cy).next(x, y); }
  svg_path& cubic(double cx0, double cy0, double cx1, double cy1, double x, double y) {
    return command('C').point(cx0, cy0).next(cx1, cy1).next(x, y);
  }
  // More commands as SVG writes them: shapes of a fixed size, relative to the point before.
  svg_path& relative(std::string_view commands) {
    text_ += commands;
    return *this;
  }

  const std::string& text() const { return text_; }

 private:
  svg_path& command(char letter);
  svg_path& number(double value);
  svg_path& point(double x, double y);
  svg_path& next(double x, double y);

  coordinates format_;
  std::string text_;
};

class svg_builder {
 public:
  svg_builder(std::string& out, coordinates format) : out_(out), format_(format) {}

  // Begins an element. Its attributes follow, then `end_empty`, `content` or `children`.
  svg_builder& open(std::string_view tag);
  svg_builder& attribute(std::string_view name, std::string_view value);
  svg_builder& attribute(std::string_view name, double value);
  svg_builder& end_empty();                                           // ends an element without content, and the line
  svg_builder& content(std::string_view text);                        // ends an element with text, and the line
  svg_builder& children();                                            // children follow, then `close`
  svg_builder& close(std::string_view tag);                           // ends an element with children, and the line
  svg_builder& element(std::string_view tag, std::string_view text);  // a child without attributes, as a tool tip

  svg_builder& line_end() { return raw("\n"); }
  svg_builder& raw(std::string_view svg);  // as it is

 private:
  std::string& out_;
  coordinates format_;
  std::string_view tag_;  // of the element that was opened last: the caller's literal
};

}  // namespace digd::picture
