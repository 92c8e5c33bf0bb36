#include <string_view>

#include "report/picture/svg_pieces.h"
#include "report/picture/text.h"

namespace digd::picture {

double draw_legend(svg_pieces& on, double top, double width, bool has_lit_path) {
  double x = 28, y = top;
  // Makes room for a symbol and its meaning; gives the symbol's place.
  const auto next = [&](double symbol, std::string_view meaning) {
    const double whole = symbol + 8 + static_cast<double>(width_of(meaning)) * svg_pieces::letter;
    if (x + whole > width - 20) {
      x = 28;
      y += 26;
    }
    const double at = x;
    on.text(x + symbol + 8, y + 4, "less", meaning);
    x += whole + 22;
    return at;
  };
  const auto squares = [&](std::string_view cls, std::string_view meaning) {
    const double at = next(11, meaning);
    on.box(at, y - 5.5, 11, 11, 2, cls);
  };
  const auto lines = [&](std::string_view cls, std::string_view meaning) {
    const double at = next(24, meaning);
    on.line(at, y, at + 24, y, cls);
  };
  const auto rings = [&](std::string_view cls, std::string_view meaning) {
    const double at = next(20, meaning);
    on.box(at, y - 10, 20, 20, 5, cls);
  };
  on.open_group("legend", "");
  on.circle(next(18, "activation") + 9, y, 9, "span");
  const double many = next(18, "with more outputs than inputs") + 9;
  on.circle(many, y, 9, "span many");
  on.shape(on.path().move(many, y - 4).relative("l4.2 7h-8.4z"), "glyph");
  squares("square", "event");
  squares("square answer", "answer");
  squares("square again", "given on");
  lines("works", "taken up");
  lines("idles", "waits ⋯  discarded ✗  rerouted ↪");
  lines("heals", "by digd, ✚ with a text");
  const double never = next(8, "never taken up") + 4;
  on.circle(never, y, 4, "stop");
  rings("ring fails", "failure");
  rings("ring warns", "warning");
  rings("ring named", "named in a finding");
  if (has_lit_path) {
    const double path = next(16, "on the lit path");
    on.box(path, y - 8, 16, 16, 3, "glow whole");
  }
  on.close_group();
  return y + 30;
}

}  // namespace digd::picture
