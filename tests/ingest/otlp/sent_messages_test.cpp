#include "ingest/otlp/sent_messages.h"

#include "tests/ingest/otlp/spans.h"

using namespace otlp_tests;
using lines = std::vector<std::string>;

namespace {

lines all_in_short(const std::vector<run_message>& of) {
  lines out;
  for (const run_message& message : of) out.push_back(in_short(message));
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
  for (const auto& known :
       {std::vector<made>{first}, std::vector<made>{first, second}, std::vector<made>{first, second, workflow}}) {
    const bool complete = known.size() == 3;
    for (const auto& text :
         all_in_short(sent.take_unsent(map_spans(spans(known), complete ? span_set::complete : span_set::partial))))
      parts.push_back(text);
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
  for (const run_message& message : added) {
    REQUIRE(message.ts_ms == 300);
    REQUIRE(json::serialize(message.members).find("\"ts\"") != std::string::npos);
  }
}

TEST_CASE("after_a_restart_only_unsent_messages_follow") {
  sent_messages before, after;
  for (run_message& message : before.take_unsent(map_spans(spans({first}), span_set::partial))) {
    json::object line = message.members;
    line["type"] = json::string_view(message.type.data(), message.type.size());
    line["ts"] = message.ts_ms;
    after.note(line);
  }
  const auto current_spans = spans({workflow, first, second});
  REQUIRE(all_in_short(after.take_unsent(map_spans(current_spans, span_set::complete))) ==
          all_in_short(before.take_unsent(map_spans(current_spans, span_set::complete))));
}
