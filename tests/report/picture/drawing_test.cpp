#include <algorithm>
#include <sstream>

#include "report/picture/dot.h"
#include "report/picture/svg.h"
#include "report/picture/terminal.h"
#include "report/picture/text.h"
#include "tests/report/picture/support.h"

namespace digd::picture {

namespace {

std::string terminal(const std::vector<std::string>& trace, const filter& filter = {},
                     const terminal_look& look = {.width = 100}) {
  const model m = picture_of(trace);
  return draw_terminal(m, select(m, filter), look);
}

std::string svg(const std::vector<std::string>& trace, const filter& filter = {}) {
  const model m = picture_of(trace);
  return draw_svg(m, select(m, filter));
}

std::size_t count(std::string_view in, std::string_view text) {
  std::size_t n = 0;
  for (std::size_t at = in.find(text); at != std::string_view::npos; at = in.find(text, at + text.size())) ++n;
  return n;
}

// Every tag that opens closes, in order, and no other character than text stands outside tags.
bool well_formed(std::string_view text) {
  std::vector<std::string> open;
  for (std::size_t at = text.find('<'); at != std::string_view::npos; at = text.find('<', at + 1)) {
    const std::size_t end = text.find('>', at);
    if (end == std::string_view::npos) return false;
    const std::string_view tag = text.substr(at + 1, end - at - 1);
    const std::string name(
        tag.substr(tag.starts_with('/') ? 1 : 0, tag.find_first_of(" />", 1) - (tag.starts_with('/') ? 1 : 0)));
    if (tag.starts_with('/')) {
      if (open.empty() || open.back() != name.substr(0, open.back().size())) return false;
      open.pop_back();
    } else if (!tag.ends_with('/')) {
      open.push_back(name);
    }
  }
  return open.empty();
}

}  // namespace

TEST_CASE("the_terminal_picture_of_a_troubled_run_is_this") {
  const std::string expected = R"(run r1  enforce · 3 agents · 2 activations · 6 events · 3 detections, 3 healed

  ms                      planner                 coder                   tester
     ╷                    ╷                       ╷                       ╷
   0 ├─ e1 problem ──────▶│                       │                       │
  10 │                    ┏ v1 ✓e1  10 ms ▲       │                       │
  20 │                    ┣ e2 ──────────────────▶│                       │
     │                    ┣ e3 ✕nobody ───────────┼─────────────────────○▶│
     │                    ┗ e4 OE ✚ ✕reviewer ↩   │                       │
     │ ⚠ OE orphaned_event · e4                   │                       │
     │   The event "e4" reaches nobody: it was given to "reviewer", and no agent can consume it any
)";
  CHECK(terminal(troubled).substr(0, expected.size()) == expected);
}

TEST_CASE("every_line_of_a_terminal_picture_fits_its_width") {
  for (const std::size_t width : {40u, 60u, 100u, 200u}) {
    for (const auto& trace : {troubled, reactions, hostile()}) {
      std::istringstream lines(terminal(trace, {}, {.width = width, .color = true, .words = true}));
      for (std::string line; std::getline(lines, line);) {
        INFO(line);
        CHECK(width_of(line) <= width);
      }
    }
  }
}

TEST_CASE("reactions_have_signs") {
  const std::string text = terminal(reactions);
  CHECK(text.find("v1 …w ✗d ↪r ✓never") != std::string::npos);
  CHECK(text.find("failed") != std::string::npos);
  CHECK(text.find("v3 still open") != std::string::npos);
}

TEST_CASE("colour_is_left_out_of_a_plain_picture") {
  CHECK(terminal(troubled).find('\x1b') == std::string::npos);
  CHECK(terminal(troubled, {}, {.width = 100, .color = true}).find("\x1b[1;31m") != std::string::npos);
}

TEST_CASE("a_hostile_name_cannot_move_the_cursor") {
  const std::string text = terminal(hostile(), {}, {.width = 100, .words = true});
  for (const char c : text) CHECK((c == '\n' || static_cast<unsigned char>(c) >= 0x20));
  CHECK(text.find("\u202e") == std::string::npos);
}

TEST_CASE("an_svg_has_a_node_for_each_activation_and_event") {
  const std::string text = svg(troubled);
  CHECK(well_formed(text));
  CHECK(count(text, "<title>activation ") == 2);
  CHECK(count(text, "<title>event ") == 6);
  CHECK(text.find("prefers-color-scheme:dark") != std::string::npos);
  CHECK(text.find("role=\"img\"") != std::string::npos);
  CHECK(count(text, "ring fails") == 2 + 1);  // e4, e5 and the legend
}

TEST_CASE("an_svg_states_how_much_it_leaves_out") {
  CHECK(svg(troubled, {.limit = 3}).find("shows 3 of 8") != std::string::npos);
}

TEST_CASE("a_delivery_taken_up_outside_the_picture_is_not_shown_as_one_that_failed") {
  const std::string text = svg(troubled, {.to = 25});  // e2 is taken up at 30
  CHECK(text.find("e2 for coder: consumed") != std::string::npos);
  CHECK(count(text, "class=\"cross\"") == 0);
}

TEST_CASE("hostile_names_stay_text_in_svg") {
  const std::string text = svg(hostile());
  CHECK(well_formed(text));
  CHECK(text.find("<script") == std::string::npos);
  CHECK(text.find("\u202e") == std::string::npos);
  for (const char c : text) CHECK((c == '\n' || static_cast<unsigned char>(c) >= 0x20));
}

TEST_CASE("nothing_is_fetched_and_nothing_runs_in_an_svg") {
  const std::string text = svg(troubled);
  for (const char* current_text : {"href", "url(", "@import", "<script", "onload"})
    CHECK(text.find(current_text) == std::string::npos);
}

TEST_CASE("a_dot_file_quotes_every_name") {
  const model m = picture_of(hostile());
  const std::string text = draw_dot(m, select(m, {}));
  CHECK(text.find("<script>") != std::string::npos);  // as text inside quotes, where it means nothing
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && quoted) {
      ++i;
    } else if (text[i] == '"') {
      quoted = !quoted;
    } else if (!quoted) {
      CHECK(text[i] != '<');
    }
  }
  CHECK(!quoted);
}

TEST_CASE("an_empty_run_is_a_picture_too") {
  const std::vector<std::string> empty{R"({"type":"hello","protocol":1,"run":"r"})"};
  CHECK(terminal(empty).find("nothing to show") != std::string::npos);
  CHECK(well_formed(svg(empty)));
}

}  // namespace digd::picture
