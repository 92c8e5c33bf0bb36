#include "report/picture/palette.h"

#include <catch2/catch.hpp>
#include <cmath>

#include "report/picture/chart.h"
#include "report/picture/svg.h"
#include "report/picture/svg_style.h"
#include "tests/report/picture/support.h"

namespace digd::picture {

namespace {

double linear(std::string_view hex) {
  const double c = std::stoi(std::string(hex), nullptr, 16) / 255.0;
  return c <= 0.04045 ? c / 12.92 : std::pow((c + 0.055) / 1.055, 2.4);
}

// WCAG 2.2, relative luminance and contrast ratio.
double luminance(std::string_view colour) {
  return 0.2126 * linear(colour.substr(1, 2)) + 0.7152 * linear(colour.substr(3, 2)) +
         0.0722 * linear(colour.substr(5, 2));
}
double contrast(std::string_view a, std::string_view b) {
  const double x = luminance(a), y = luminance(b);
  return (std::max(x, y) + 0.05) / (std::min(x, y) + 0.05);
}

hue named(std::string_view name) {
  for (const hue& hue : palette()) {
    if (hue.name == name) return hue;
  }
  FAIL("no colour " << name);
  return {};
}

}  // namespace

TEST_CASE("text has the contrast that WCAG AA asks for, on every ground it stands on") {
  for (const char* ink : {"ink", "soft", "faint", "fail-ink", "warn-ink", "good-ink", "heal-ink"}) {
    for (const char* ground : {"paper", "panel"}) {
      INFO(ink << " on " << ground);
      CHECK(contrast(named(ink).light, named(ground).light) >= 4.5);
      CHECK(contrast(named(ink).dark, named(ground).dark) >= 4.5);
    }
  }
  for (const char* ground : {"fail-badge", "warn-badge"}) {
    CHECK(contrast(named("paper").light, named(ground).light) >= 4.5);
    CHECK(contrast(named("paper").dark, named(ground).dark) >= 4.5);
  }
  for (const char* ground : {"good-fill", "fail-fill", "warn-fill"}) {
    CHECK(contrast(named("ink").light, named(ground).light) >= 4.5);
    CHECK(contrast(named("ink").dark, named(ground).dark) >= 4.5);
  }
}

TEST_CASE("a style sheet that stands alone has its colours written out, the dark ones in a query") {
  CHECK(with_colours(".a{fill:var(--paper);r:1}.b{r:2}") ==
        ".a{fill:#ffffff;r:1}.b{r:2}@media (prefers-color-scheme:dark){\n.a{fill:#12161b}\n}\n");
}

TEST_CASE("every colour that a style names is in the palette") {
  for (const std::string_view css : {svg_style, chart_style})
    CHECK(with_colours(css).find("currentColor") == std::string::npos);
}

TEST_CASE("a scoped style sheet holds within its prefix only") {
  CHECK(scoped(".a,text{r:1}\n.b .c{r:2}\n", "svg.x") == "svg.x .a,svg.x text{r:1}\nsvg.x .b .c{r:2}\n");
}

TEST_CASE("a picture in a page has no style of its own and lights what it is told to") {
  const model m = picture_of(troubled);
  highlight lit{std::vector<bool>(m.events.size(), false), std::vector<bool>(m.activations.size(), false)};
  lit.events[m.find_event("e1")] = lit.activations[0] = true;
  const selection selections = select(m, {});
  const std::string dark = draw_svg(m, selections, {.embedded = true, .id = "g"}),
                    bright = draw_svg(m, selections, {.embedded = true, .id = "g", .lit = &lit});
  CHECK(dark.find("<style>") == std::string::npos);
  CHECK(dark.find("glow") == std::string::npos);
  CHECK(dark.find("aria-labelledby=\"g-title g-desc\"") != std::string::npos);
  CHECK(bright.find("class=\"glow\"") != std::string::npos);
  CHECK(bright.find("on the lit path") != std::string::npos);
  CHECK(draw_svg(m, selections).find("<style>") != std::string::npos);
}

TEST_CASE("a recorder with a window draws that part of a run, and what it names") {
  recorder part({}, {.first_line = 5, .max_rows = 3});
  for (const std::string& line : troubled) {
    if (!part.line(line)) break;
  }
  const model m = part.finish();
  CHECK(m.cut);
  REQUIRE(m.activations.size() == 1);
  CHECK(m.activations[0].id == "v2");
  CHECK(m.events[m.activations[0].inputs[0].event].placeholder);
}

}  // namespace digd::picture
