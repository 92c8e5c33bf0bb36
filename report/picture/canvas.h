// One line of a terminal picture, drawn over in any order: cells with a glyph and a style.
//
// Thread: one at a time. Lifetime: what `glyph` returns holds until the line changes. Bounds: `width` cells. Failure:
// none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace digd::picture {

enum class style : std::uint8_t { plain, dim, bold, good, warning, bad, monitor, work };

class canvas_line {
 public:
  explicit canvas_line(std::size_t width) : cells_(width) {}

  // Draws a glyph that is one column wide; outside the line, nothing is drawn.
  void put(std::size_t at, std::string_view glyph, style style);
  // Draws text of at most `most` columns, cut with …; returns the column after it.
  std::size_t text(std::size_t at, std::string_view text, style style, std::size_t most);
  // The glyph at a column; empty: none.
  std::string_view glyph(std::size_t at) const {
    return at < cells_.size() ? std::string_view(cells_[at].glyph) : std::string_view{};
  }

  // With SGR sequences if `color`. Ends with the last glyph, without trailing spaces.
  std::string str(bool color) const;

 private:
  struct cell {
    std::string glyph;  // empty: a space, or the second half of a wide one
    digd::picture::style style = style::plain;
    bool half = false;
  };
  void clear(std::size_t at);
  std::vector<cell> cells_;
};

// Text in a style, with its SGR sequences if `color`.
std::string styled(std::string_view text, style style, bool color);

}  // namespace digd::picture
