#include <boost/json.hpp>
#include <fstream>
#include <sstream>

#include "report/compose.h"
#include "report/html.h"
#include "report/text.h"
#include "tests/report/picture/support.h"

namespace digd::report {

namespace {

struct whole {
  gathered from;
  std::vector<part> parts;
  digd::report::document document;
};

whole report_of(const std::vector<std::string>& lines,
                std::vector<part> parts = not_run("trace.jsonl", "told not to.")) {
  whole out{.from = gather([&](const std::function<bool(std::string_view)>& each) {
              for (const std::string& line : lines) each(line);
              return std::string();
            }),
            .parts = std::move(parts),
            .document = {}};
  REQUIRE(out.from.problem.empty());
  out.document = compose(out.from, out.parts, "trace.jsonl");
  return out;
}

bool has(std::string_view text, std::string_view given_text) { return text.find(given_text) != std::string_view::npos; }

// Tags as they open and close; void ones are left out.
bool balanced(std::string_view html) {
  std::vector<std::string> open;
  for (std::size_t at = html.find('<'); at != std::string_view::npos; at = html.find('<', at + 1)) {
    if (html.substr(at, 2) == "<!") continue;
    const std::size_t end = html.find('>', at);
    const bool closes = html[at + 1] == '/';
    const std::size_t begin = at + 1 + closes;
    const std::string name(html.substr(begin, html.find_first_of(" />\n", begin) - begin));
    if (name == "meta" || name == "br" || html[end - 1] == '/') continue;
    if (name == "script" || name == "style") {
      at = html.find("</" + name + ">", at);
      continue;
    }
    if (!closes) {
      open.push_back(name);
    } else if (open.empty() || open.back() != name) {
      return false;
    } else {
      open.pop_back();
    }
  }
  return open.empty();
}

}  // namespace

TEST_CASE("the_verdict_is_two_sentences") {
  const whole r = report_of(picture::troubled);
  REQUIRE(r.document.verdict.size() == 2);
  CHECK(r.document.verdict[0] ==
        "Run r1 has not ended; it was last heard of after 2.5 s; in its 6 messages of 3 agents digd made 3 detections "
        "and healed 3.");
  CHECK(r.document.verdict[1] == "The first failure was orphaned event at 20 ms, on event e4.");
  CHECK(r.document.failed);
  const whole fine = report_of({R"({"type":"hello","protocol":1,"run":"fine","clock":"trace","agents":["a"]})",
                                R"({"type":"run_ended","seq":1,"ts":5,"outcome":"success"})"});
  CHECK(fine.document.verdict[0] ==
        "Run fine ended as \"success\" after 0 ms; in its 1 message of 1 agent digd found nothing wrong.");
  CHECK_FALSE(fine.document.failed);
}

TEST_CASE(
    "what a pass found stands in the verdict, in its section and among the sources; what did not run says why and "
    "how") {
  part ran{.id = "responsibility", .title = "Who", .ran = true, .command = "x", .answer = "agent coder did it"};
  ran.origins.push_back({"φ", "by counting", "eq. 2"});
  part not_done{
      .id = "decisive-error", .title = "When", .why_not = "too long.", .command = "digctl attribute chief r1"};
  const whole r = report_of(picture::troubled, {ran, not_done});
  CHECK(has(r.document.verdict[1], "; agent coder did it."));
  const std::string html = to_html(r.document);
  CHECK(has(html, "Not run: too long."));
  CHECK(has(html, "digctl attribute chief r1"));
  CHECK(has(html, "eq. 2"));
  CHECK(has(html, "Not run: When."));
}

TEST_CASE("the_page_is_whole_asks_for_nothing_and_names_its_parts_for_those_who_do_not_see_it") {
  const whole r = report_of(picture::troubled);
  const std::string html = to_html(r.document);
  CHECK(balanced(html));
  for (const char* outside : {"http://", "https://", "src=", "@import", "url(", "<link", "<iframe", "<img"}) {
    INFO(outside);
    CHECK_FALSE(has(html, outside));
  }
  for (const char* inside :
       {"default-src 'none'", "<html lang=\"en\">", "class=\"skip\"", "prefers-color-scheme:dark", "@media print",
        "prefers-reduced-motion", "scope=\"col\"", "scope=\"row\"", "<caption", "<title>", "<desc", "aria-label"}) {
    INFO(inside);
    CHECK(has(html, inside));
  }
}

TEST_CASE("hostile_names_form_no_markup_in_any_format") {
  const whole r = report_of(picture::hostile());
  const std::string html = to_html(r.document), md = to_markdown(r.document),
                    json = to_json(r.from, r.parts, r.document);
  CHECK(balanced(html));
  CHECK_FALSE(has(html, "<script>alert"));
  CHECK(has(html, "&lt;script&gt;alert"));
  CHECK_FALSE(has(html, "\u202e"));
  CHECK_FALSE(has(md, "<script>"));
  CHECK_FALSE(has(md, "\u202e"));
  CHECK_FALSE(has(md, "\x1b"));
  CHECK_NOTHROW(boost::json::parse(json));
}

TEST_CASE("the_JSON_of_a_small_run_is_this") {
  const whole r = report_of(picture::troubled);
  std::ifstream file(DIGD_SOURCE_DIR "/tests/report/troubled.json");
  std::stringstream expected;
  expected << file.rdbuf();
  boost::json::object object = boost::json::parse(to_json(r.from, r.parts, r.document)).as_object();
  CHECK(object.at("passes").at("causes").at("ran") == false);
  object.erase("passes");
  CHECK(object == boost::json::parse(expected.str()));
}

TEST_CASE("a_name_can_be_typed_as_it_is_told") {
  CHECK(on_command_line("run-1.jsonl") == "run-1.jsonl");
  CHECK(on_command_line("it's; rm -rf /") == "'it'\\''s; rm -rf /'");
  CHECK(on_command_line("-x") == "-- -x");
}

}  // namespace digd::report
