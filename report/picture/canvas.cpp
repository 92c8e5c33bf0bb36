#include "report/picture/canvas.h"

#include "report/picture/text.h"

namespace digd::picture {

namespace {

std::string_view sgr(style style) {
  switch (style) {
    case style::plain: return "";
    case style::dim: return "\x1b[2m";
    case style::bold: return "\x1b[1m";
    case style::good: return "\x1b[32m";
    case style::warning: return "\x1b[33m";
    case style::bad: return "\x1b[1;31m";
    case style::monitor: return "\x1b[1;35m";
    case style::work: return "\x1b[36m";
  }
  return "";
}

std::size_t bytes_of(std::string_view text) {
  const auto lead = static_cast<unsigned char>(text.front());
  const std::size_t bytes = lead < 0x80 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
  return bytes < text.size() ? bytes : text.size();
}

}  // namespace

// Removes the other half of a wide glyph.
void canvas_line::clear(std::size_t at) {
  if (cells_[at].half && at > 0) cells_[at - 1].glyph.clear();
  if (at + 1 < cells_.size() && cells_[at + 1].half) cells_[at + 1].half = false;
  cells_[at] = {};
}

void canvas_line::put(std::size_t at, std::string_view glyph, style style) {
  if (at >= cells_.size()) return;
  clear(at);
  cells_[at].glyph = glyph;
  cells_[at].style = style;
}

std::size_t canvas_line::text(std::size_t at, std::string_view text, style style, std::size_t most) {
  if (at >= cells_.size()) return at;
  const std::string fitting = fit(text, std::min(most, cells_.size() - at));
  for (std::string_view rest = fitting; !rest.empty();) {
    const std::string_view glyph = rest.substr(0, bytes_of(rest));
    rest.remove_prefix(glyph.size());
    const std::size_t columns = width_of(glyph);
    if (columns == 0) {
      if (at > 0) cells_[at - 1].glyph += glyph;  // combines with what is before
      continue;
    }
    clear(at);
    put(at, glyph == " " ? "" : glyph, style);
    if (columns == 2 && at + 1 < cells_.size()) {
      clear(at + 1);
      cells_[at + 1].half = true;
      cells_[at].glyph = glyph;
    }
    at += columns;
  }
  return at;
}

std::string canvas_line::str(bool color) const {
  std::size_t end = cells_.size();
  while (end > 0 && cells_[end - 1].glyph.empty() && !cells_[end - 1].half) --end;
  std::string out;
  style now = style::plain;
  for (std::size_t i = 0; i < end; ++i) {
    const cell& c = cells_[i];
    if (c.half) continue;
    const style current_style = c.glyph.empty() ? style::plain : c.style;
    if (color && current_style != now) {
      if (now != style::plain) out += "\x1b[0m";
      out += sgr(current_style);
      now = current_style;
    }
    out += c.glyph.empty() ? " " : c.glyph;
  }
  if (now != style::plain) out += "\x1b[0m";
  return out;
}

std::string styled(std::string_view text, style given_style, bool color) {
  if (!color || given_style == style::plain) return std::string(text);
  return std::string(sgr(given_style)) + std::string(text) + "\x1b[0m";
}

}  // namespace digd::picture
