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

TEST_CASE("text_has_the_contrast_that_WCAG_AA_asks_for_on_every_ground_it_stands_on") {
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

TEST_CASE("a_style_sheet_that_stands_alone_has_its_colours_written_out_the_dark_ones_in_a_query") {
  CHECK(with_colours(".a{fill:var(--paper);r:1}.b{r:2}") ==
        ".a{fill:#ffffff;r:1}.b{r:2}@media (prefers-color-scheme:dark){\n.a{fill:#12161b}\n}\n");
}

TEST_CASE("every_colour_that_a_style_names_is_in_the_palette") {
  for (const std::string_view css : {svg_style, chart_style})
    CHECK(with_colours(css).find("currentColor") == std::string::npos);
}

TEST_CASE("a_scoped_style_sheet_holds_within_its_prefix_only") {
  CHECK(scoped(".a,text{r:1}\n.b .c{r:2}\n", "svg.x") == "svg.x .a,svg.x text{r:1}\nsvg.x .b .c{r:2}\n");
}

TEST_CASE("an_embedded_picture_has_no_style_of_its_own_and_highlights_the_given_path") {
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

TEST_CASE("a_recorder_with_a_window_draws_that_part_of_a_run_and_what_it_names") {
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
