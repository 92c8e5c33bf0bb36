#include "ingest/otlp/telling.h"

#include "tests/ingest/otlp/spans.h"

using namespace otlp_tests;
using lines = std::vector<std::string>;

namespace {

lines said_all(const std::vector<story_message>& of) {
  lines out;
  for (const story_message& one : of) out.push_back(said(one));
  return out;
}

const made workflow{"9", "", "run", 0, 1000, operation("invoke_workflow")};
const made first{"1", "9", "invoke_agent a", 10, 100, agent("a")};
const made second{"2", "9", "invoke_agent b", 200, 300, agent("b")};
const made between{"3", "9", "invoke_agent c", 120, 180, agent("c")};

}  // namespace

TEST_CASE("what_was_told_is_not_told_again") {
  telling so_far;
  REQUIRE(so_far.news(tell(spans({workflow, first, second}), more::is_over)).size() == 5);
  REQUIRE(so_far.news(tell(spans({second, first, workflow}), more::is_over)).empty());
  REQUIRE(so_far.late() == 0);
}

TEST_CASE("a_run_told_in_parts_is_the_run_told_at_once") {
  telling so_far;
  lines parts;
  for (const auto& known : {std::vector<made>{first}, std::vector<made>{first, second}, std::vector<made>{first, second, workflow}}) {
    const bool all = known.size() == 3;
    for (const auto& one : said_all(so_far.news(tell(spans(known), all ? more::is_over : more::may_come)))) parts.push_back(one);
  }
  REQUIRE(parts == told(spans({workflow, first, second})));
  REQUIRE(so_far.late() == 0);
}

TEST_CASE("a_span_that_comes_after_its_run_was_judged_adds_to_it_and_changes_nothing") {
  telling so_far;
  static_cast<void>(so_far.news(tell(spans({workflow, first, second}), more::is_over)));
  const auto news = so_far.news(tell(spans({workflow, first, second, between}), more::is_over));
  // a's output for c comes when a has ended: from outside. b has been told with what a gave it.
  REQUIRE(said_all(news) == lines{"event out:1:3 -> c", "start 3 c(out:1:3)", "end 3 [out:3:2 -> b]"});
  REQUIRE(so_far.late() > 0);
  for (const story_message& one : news) {
    REQUIRE(one.ts_ms == 300);
    REQUIRE(json::serialize(one.members).find("\"ts\"") != std::string::npos);
  }
}

TEST_CASE("after_a_restart_it_goes_on_from_the_lines_that_were_told") {
  telling before, after;
  for (story_message& one : before.news(tell(spans({first}), more::may_come))) {
    json::object line = one.members;
    line["type"] = json::string_view(one.type.data(), one.type.size());
    line["ts"] = one.ts_ms;
    after.recall(line);
  }
  const auto all = spans({workflow, first, second});
  REQUIRE(said_all(after.news(tell(all, more::is_over))) == said_all(before.news(tell(all, more::is_over))));
}
