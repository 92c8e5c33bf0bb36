#include "ingest/otlp/sent_messages.h"

#include "tests/ingest/otlp/spans.h"

using namespace otlp_tests;
using lines = std::vector<std::string>;

namespace {

lines all_in_short(const std::vector<run_message>& of) {
  lines out;
  for (const run_message& one : of) out.push_back(in_short(one));
  return out;
}

const made workflow{"9", "", "run", 0, 1000, operation("invoke_workflow")};
const made first{"1", "9", "invoke_agent a", 10, 100, agent("a")};
const made second{"2", "9", "invoke_agent b", 200, 300, agent("b")};
const made between{"3", "9", "invoke_agent c", 120, 180, agent("c")};

}  // namespace

TEST_CASE("sent_messages_are_not_sent_again") {
  sent_messages sent;
  REQUIRE(sent.take_unsent(map_spans(spans({workflow, first, second}), span_set::complete)).size() == 5);
  REQUIRE(sent.take_unsent(map_spans(spans({second, first, workflow}), span_set::complete)).empty());
  REQUIRE(sent.moved() == 0);
}

TEST_CASE("a_run_sent_in_parts_equals_the_run_sent_at_once") {
  sent_messages sent;
  lines parts;
  for (const auto& known : {std::vector<made>{first}, std::vector<made>{first, second}, std::vector<made>{first, second, workflow}}) {
    const bool all = known.size() == 3;
    for (const auto& one : all_in_short(sent.take_unsent(map_spans(spans(known), all ? span_set::complete : span_set::partial)))) parts.push_back(one);
  }
  REQUIRE(parts == mapped(spans({workflow, first, second})));
  REQUIRE(sent.moved() == 0);
}

TEST_CASE("a_span_that_comes_late_adds_messages_and_changes_none") {
  sent_messages sent;
  static_cast<void>(sent.take_unsent(map_spans(spans({workflow, first, second}), span_set::complete)));
  const auto added = sent.take_unsent(map_spans(spans({workflow, first, second, between}), span_set::complete));
  // a has ended, so its output for c comes from outside. b was sent with what a gave it.
  REQUIRE(all_in_short(added) == lines{"event out:1:3 -> c", "start 3 c(out:1:3)", "end 3 [out:3:2 -> b]"});
  REQUIRE(sent.moved() > 0);
  for (const run_message& one : added) {
    REQUIRE(one.ts_ms == 300);
    REQUIRE(json::serialize(one.members).find("\"ts\"") != std::string::npos);
  }
}

TEST_CASE("after_a_restart_only_unsent_messages_follow") {
  sent_messages before, after;
  for (run_message& one : before.take_unsent(map_spans(spans({first}), span_set::partial))) {
    json::object line = one.members;
    line["type"] = json::string_view(one.type.data(), one.type.size());
    line["ts"] = one.ts_ms;
    after.note(line);
  }
  const auto all = spans({workflow, first, second});
  REQUIRE(all_in_short(after.take_unsent(map_spans(all, span_set::complete))) == all_in_short(before.take_unsent(map_spans(all, span_set::complete))));
}
