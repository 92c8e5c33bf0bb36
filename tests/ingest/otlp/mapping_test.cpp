#include "tests/ingest/otlp/spans.h"

#include <algorithm>
#include <random>

using namespace otlp_tests;
using lines = std::vector<std::string>;

namespace {

// A planner, two workers at once, a writer; a model's and a tool's span inside.
std::vector<span> team() {
  return spans({{"9", "", "run", 0, 1000, operation("invoke_workflow")},
                {"1", "9", "invoke_agent planner", 10, 100, agent("planner")},
                {"2", "9", "invoke_agent coder", 110, 300, agent("coder")},
                {"3", "9", "invoke_agent searcher", 120, 250, agent("searcher")},
                {"4", "9", "invoke_agent writer", 310, 400, agent("writer")},
                {"5", "2", "chat m", 120, 200, operation("chat")},
                {"6", "2", "execute_tool t", 210, 220, operation("execute_tool")}});
}

}  // namespace

TEST_CASE("turns_read_the_outputs_of_the_turns_before_them") {
  REQUIRE(mapped(team()) == lines{"event in:1 -> planner", "start 1 planner(in:1)",
                                  "end 1 [out:1:2 -> coder] [out:1:3 -> searcher]", "start 2 coder(out:1:2)",
                                  "start 3 searcher(out:1:3)", "end 3 [out:3:4 -> writer]", "end 2 [out:2:4 -> writer]",
                                  "start 4 writer(out:2:4 out:3:4)", "end 4 [out:4 submits]"});
  REQUIRE(detections(team()).empty());
}

TEST_CASE("the_order_of_spans_and_duplicates_change_nothing") {
  const lines expected = mapped(team());
  std::mt19937 dice(7);
  for (int i = 0; i < 50; ++i) {
    std::vector<span> shuffled = team();
    const std::vector<span> again = team();
    shuffled.insert(shuffled.end(), again.begin(), again.end());
    std::shuffle(shuffled.begin(), shuffled.end(), dice);
    REQUIRE(mapped(shuffled) == expected);
  }
}

TEST_CASE("links_inferred_from_times_are_marked_and_counted") {
  const mapped_run run = map_spans(team(), span_set::complete);
  REQUIRE(json::serialize(run.messages[0].members.at("event").at("inferred")) == R"(["recipients"])");
  REQUIRE(json::serialize(run.messages[1].members.at("inferred")) == R"(["inputs"])");
  REQUIRE(json::serialize(run.messages[2].members.at("inferred")) == R"(["reactions"])");
  REQUIRE(run.counts.sources.stated == 5);
  REQUIRE(run.counts.inputs.inferred == 5);
  REQUIRE(run.counts.inputs.stated == 0);
  REQUIRE(run.counts.submits.inferred == 1);
  REQUIRE(run.counts.agents == 4);
}

TEST_CASE("an_agent_that_calls_another_goes_on_with_its_answer") {
  const auto of = spans({{"1", "", "invoke_agent boss", 0, 500, agent("boss")},
                         {"2", "1", "execute_tool ask", 100, 210, operation("execute_tool")},
                         {"3", "2", "invoke_agent clerk", 110, 200, agent("clerk")}});
  REQUIRE(mapped(of) == lines{"event in:1 -> boss", "start 1 boss(in:1)", "end 1 [ask:3 -> clerk]",
                              "start 3 clerk(ask:3)", "end 3 [ans:3 -> boss]", "start 1.2 boss(ans:3)",
                              "end 1.2 [out:1 submits]"});
  REQUIRE(detections(of).empty());
}

TEST_CASE("calls_that_overlap_are_one_request_round") {
  const auto of = spans({{"1", "", "invoke_agent boss", 0, 500, agent("boss")},
                         {"2", "1", "invoke_agent a", 100, 200, agent("a")},
                         {"3", "1", "invoke_agent b", 150, 300, agent("b")},
                         {"4", "1", "invoke_agent c", 350, 400, agent("c")}});
  REQUIRE(mapped(of) == lines{"event in:1 -> boss", "start 1 boss(in:1)", "end 1 [ask:2 -> a] [ask:3 -> b]",
                              "start 2 a(ask:2)", "start 3 b(ask:3)", "end 2 [ans:2 -> boss]", "end 3 [ans:3 -> boss]",
                              "start 1.2 boss(ans:2 ans:3)", "end 1.2 [ask:4 -> c]", "start 4 c(ask:4)",
                              "end 4 [ans:4 -> boss]", "start 1.3 boss(ans:4)", "end 1.3 [out:1 submits]"});
}

TEST_CASE("the_error_of_a_called_agent_is_its_answer") {
  const auto of = spans({{"1", "", "invoke_agent boss", 0, 500, agent("boss")},
                         {"2", "1", "invoke_agent a", 100, 200, agent("a"), {}, "it broke"},
                         {"3", "1", "invoke_agent a", 250, 300, agent("a")}});
  const lines lines = mapped(of);
  REQUIRE(std::count(lines.begin(), lines.end(), "end 2 [ans:2 -> boss]") == 1);
  REQUIRE(std::count(lines.begin(), lines.end(), "start 1.2 boss(ans:2)") == 1);
  const mapped_run run = map_spans(of, span_set::complete);
  REQUIRE(json::serialize(run.messages[4].members.at("outputs").at(0).at("payload")) == R"({"error":"it broke"})");
  REQUIRE(detections(of).empty());
}

TEST_CASE("a_caller_that_fails_with_its_agent_is_reported") {
  const auto of = spans({{"1", "", "invoke_agent boss", 0, 500, agent("boss"), {}, "it broke"},
                         {"2", "1", "invoke_agent a", 100, 200, agent("a"), {}, "it broke"}});
  REQUIRE(outcome_of(imported(of).front()) == "failure");
  REQUIRE(detections(of) == lines{"deadlock "});
}

TEST_CASE("a_cancelled_turn_did_not_fail_and_gives_no_answer") {
  // Two agents race; the loser is cancelled and ends last.
  const auto race = [](bool kept, const std::string& root_error) {
    auto of = spans({{"9", "", "run", 0, 900, operation("invoke_workflow"), {}, root_error},
                     {"1", "9", "invoke_agent fast", 10, 100, agent("fast")},
                     {"2", "9", "invoke_agent slow", 20, 120, agent("slow"), {}, "CancelledError: "}});
    for (span& s : of) keep_essential(s, kept);
    return of;
  };
  for (const bool kept : {true, false}) {
    const lines lines = mapped(race(kept, ""));
    REQUIRE(std::count(lines.begin(), lines.end(), "end 1 [out:1 submits]") == 1);
    REQUIRE(detections(race(kept, "")).empty());
    REQUIRE(outcome_of(imported(race(kept, "CancelledError")).front()) == "aborted");
    REQUIRE(detections(race(kept, "CancelledError")).empty());
  }
}

TEST_CASE("the_turn_after_a_failed_one_takes_up_its_inputs") {
  const auto of = spans({{"9", "", "run", 0, 900, operation("invoke_workflow")},
                         {"1", "9", "invoke_agent a", 10, 100, agent("a"), {}, "it broke"},
                         {"2", "9", "invoke_agent a", 200, 300, agent("a")}});
  REQUIRE(mapped(of) ==
          lines{"event in:1 -> a", "start 1 a(in:1)", "fail 1", "start 2 a(in:1)", "end 2 [out:2 submits]"});
}

TEST_CASE("without_the_root_nothing_is_an_answer_and_no_rule_fires") {
  std::vector<span> of = team();
  of.erase(of.begin());
  const mapped_run run = map_spans(of, span_set::complete);
  REQUIRE_FALSE(run.whole);
  REQUIRE(run.outcome == "aborted");
  REQUIRE(in_short(run.messages.back()) == "end 4 [out:4 fyi]");
  REQUIRE(detections(of).empty());
}

TEST_CASE("a_run_whose_root_failed_has_no_answer") {
  std::vector<span> of = team();
  of.front().failed = true;
  const mapped_run run = map_spans(of, span_set::complete);
  REQUIRE(run.outcome == "failure");
  REQUIRE(in_short(run.messages.back()) == "end 4 [out:4 fyi]");
}

TEST_CASE("while_more_may_come_turns_without_a_reader_do_not_end") {
  const lines lines = mapped(team(), span_set::partial);
  REQUIRE(lines.back() == "start 4 writer(out:2:4 out:3:4)");
  REQUIRE(std::count(lines.begin(), lines.end(), "end 2 [out:2:4 -> writer]") == 1);
}

TEST_CASE("links_between_turns_state_the_reader") {
  const auto of = spans({{"9", "", "run", 0, 900, operation("invoke_workflow")},
                         {"1", "9", "invoke_agent a", 10, 100, agent("a")},
                         {"2", "9", "invoke_agent b", 20, 120, agent("b")},
                         {"3", "9", "invoke_agent c", 200, 300, agent("c"), {"1"}}});
  const mapped_run run = map_spans(of, span_set::complete);
  REQUIRE(run.counts.inputs.stated == 1);
  REQUIRE(run.counts.recipients.stated == 1);
  const lines all_lines = mapped(of);
  REQUIRE(std::count(all_lines.begin(), all_lines.end(), "start 3 c(out:1:3)") == 1);
}

TEST_CASE("parents_in_a_circle_and_clocks_that_contradict_do_no_harm") {
  const auto of = spans({{"1", "2", "invoke_agent a", 10, 100, agent("a")},
                         {"2", "1", "invoke_agent b", 5, 50, agent("b")},
                         {"3", "", "invoke_agent c", 100, 90, agent("c"), {"4"}},
                         {"4", "", "invoke_agent d", 300, 400, agent("d"), {"3"}}});
  static_cast<void>(detections(of));  // the engine refuses nothing
  const lines lines = mapped(of);
  for (const char* id : {"1", "2", "3", "4"}) {
    REQUIRE(std::count_if(lines.begin(), lines.end(), [&](const std::string& text) {
              return text.starts_with(std::string("start ") + id + ' ');
            }) == 1);
  }
}

TEST_CASE("a_called_agent_that_others_are_linked_to_answers_its_caller_as_well") {
  const auto of = spans({{"9", "", "run", 0, 900, operation("invoke_workflow")},
                         {"1", "9", "invoke_agent boss", 0, 500, agent("boss")},
                         {"2", "1", "invoke_agent clerk", 100, 200, agent("clerk")},
                         {"3", "9", "invoke_agent other", 300, 400, agent("other"), {"2"}}});
  const lines lines = mapped(of);
  REQUIRE(std::count(lines.begin(), lines.end(), "end 2 [out:2:3 -> other] [ans:2 -> boss]") == 1);
  static_cast<void>(detections(of));
}

TEST_CASE("spans_without_agents_are_no_run") {
  REQUIRE(mapped(spans({{"1", "", "GET /", 0, 10, {{"http.method", "GET"}}},
                        {"2", "1", "chat m", 1, 2, operation("chat")}}))
              .empty());
}

TEST_CASE("essential_spans_map_to_the_same_messages") {
  for (const char* name :
       {"healthy/langgraph_fan_out_join", "healthy/openai_agents_handoff_and_tools", "healthy/autogen_round_robin",
        "healthy/agent_framework_agents_fan_out_join", "healthy/traceloop_langgraph_parent_command",
        "healthy/traceloop_openai_agents_parallel_tools", "healthy/traceloop_plain_nested_agents"}) {
    INFO(name);
    auto of = spans_of(recorded(name));
    const lines expected = mapped(of);
    for (span& s : of) keep_essential(s, true);
    const std::string written = encode_spans(of);
    REQUIRE(mapped(spans_of(written)) == expected);
    REQUIRE(json::serialize(map_spans(spans_of(written), span_set::complete).labels) ==
            json::serialize(map_spans(of, span_set::complete).labels));
    for (span& s : of) keep_essential(s, false);
    REQUIRE(mapped(of) == expected);
    const std::string without = encode_spans(of);
    for (const char* text : {"an answer", "write a poem", "draft", "helped"})
      REQUIRE(without.find(text) == std::string::npos);
  }
}

TEST_CASE("agents_that_call_agents_without_end_stay_within_bounds") {
  std::vector<made> deep;
  for (int i = 1; i <= 3'000; ++i) {
    const auto hex = [](int n) {
      std::string out;
      for (; n > 0; n /= 16) out.insert(0, 1, "0123456789abcdef"[n % 16]);
      return out;
    };
    deep.push_back({hex(i), hex(i - 1), "invoke_agent a", i, 10'000 - i, agent("a" + std::to_string(i))});
  }
  REQUIRE(map_spans(spans(deep), span_set::complete).counts.agents == max_call_depth + 1);
}

TEST_CASE("links_that_lead_from_every_turn_to_every_other_stay_within_bounds") {
  constexpr int turns = 2'000, hubs = 20;  // spans of no agent, each with links to a hundred turns and to the next one
  std::vector<made> recorded;
  for (int i = 0; i < hubs; ++i) {
    made hub{.id = "b" + std::to_string(i), .name = "hub", .start = 1, .end = 2};
    for (int j = 0; j < 100; ++j) hub.links.push_back("a" + std::to_string(i * 100 + j));
    if (i + 1 < hubs) hub.links.push_back("b" + std::to_string(i + 1));
    recorded.push_back(std::move(hub));
  }
  for (int i = 0; i < turns; ++i) {
    recorded.push_back({"a" + std::to_string(i), "", "invoke_agent a", 10 + i, 11 + i, agent("a"), {"b0"}});
  }
  const run_of_turns run = find_turns(spans(recorded));
  const auto stated = std::count_if(run.passings.begin(), run.passings.end(), [](const auto& p) { return p.stated; });
  REQUIRE(stated > 100'000);
  REQUIRE(stated <= static_cast<std::ptrdiff_t>(max_linked_causes + max_links_back));
  REQUIRE(map_spans(spans(recorded), span_set::complete).counts.activations >= turns);
}

TEST_CASE("several_first_turns_begin_with_one_problem") {
  // Two turns begin the run, and each of the next two reads both: their lineages have START in common.
  const auto of = spans({{"9", "", "run", 0, 900, operation("invoke_workflow")},
                         {"1", "9", "invoke_agent a", 10, 100, agent("a")},
                         {"2", "9", "invoke_agent b", 20, 90, agent("b")},
                         {"3", "9", "invoke_agent c", 200, 300, agent("c")},
                         {"4", "9", "invoke_agent d", 210, 290, agent("d")},
                         {"5", "9", "invoke_agent e", 400, 500, agent("e")}});
  const lines lines = mapped(of);
  REQUIRE(lines[0] == "event in -> START");
  REQUIRE(lines[1] == "start start START(in)");
  REQUIRE(lines[2] == "end start [in:1 -> a] [in:2 -> b]");
  REQUIRE(std::count(lines.begin(), lines.end(), "start 3 c(out:1:3 out:2:3)") == 1);
  REQUIRE(detections(of).empty());
  const mapped_run whole = map_spans(of, span_set::complete);
  REQUIRE(json::serialize(whole.messages[1].members.at("inferred")) == R"(["activation","agent","inputs"])");
  REQUIRE(whole.counts.sources.inferred == 2);
}

TEST_CASE("a_pause_between_two_turns_is_no_deadlock") {
  const auto of = spans({{"9", "", "run", 0, 900'000, operation("invoke_workflow")},
                         {"1", "9", "invoke_agent a", 10, 100, agent("a")},
                         {"2", "9", "invoke_agent b", 600'000, 700'000, agent("b")}});
  REQUIRE(detections(of).empty());
}

TEST_CASE("a_failed_turn_has_one_heir") {
  // a fails; then a and b both follow. The second a does the first one's work, and b has its own.
  const auto of = spans({{"9", "", "run", 0, 900, operation("invoke_workflow")},
                         {"1", "9", "invoke_agent a", 10, 100, agent("a"), {}, "it broke"},
                         {"2", "9", "invoke_agent b", 200, 300, agent("b")},
                         {"3", "9", "invoke_agent a", 210, 320, agent("a")}});
  const lines lines = mapped(of);
  REQUIRE(std::count(lines.begin(), lines.end(), "start 3 a(in:1)") == 1);
  REQUIRE(std::count(lines.begin(), lines.end(), "start 2 b(in:2)") == 1);
  REQUIRE(detections(of).empty());
}

TEST_CASE("a_run_whose_last_turn_failed_is_reported_at_its_end") {
  // The framework caught the exception: the root is fine, but there is no answer.
  const auto of = spans({{"9", "", "run", 0, 900, operation("invoke_workflow")},
                         {"1", "9", "invoke_agent a", 10, 100, agent("a")},
                         {"2", "9", "invoke_agent b", 200, 300, agent("b"), {}, "it broke"}});
  REQUIRE(outcome_of(imported(of).front()) == "failure");
  REQUIRE(detections(of) == lines{"deadlock "});
}

TEST_CASE("a_run_that_lacks_its_root_is_not_known_to_have_failed") {
  std::vector<span> of = team();
  of.erase(of.begin());
  REQUIRE(outcome_of(imported(of).front()) == "aborted");
  REQUIRE(outcome_of(imported(team()).front()) == "success");
}

// ---- usage

namespace {

json::object model_call(const std::string& model, int input, int output) {
  json::object out = operation("chat");
  out["gen_ai.request.model"] = model;
  out["gen_ai.usage.input_tokens"] = input;
  out["gen_ai.usage.output_tokens"] = output;
  return out;
}

// The usage in the messages, in their order.
lines usages(const std::vector<span>& of) {
  lines out;
  for (const run_message& message : map_spans(of, span_set::complete).messages) {
    if (const json::value* used = message.members.if_contains("usage")) out.push_back(json::serialize(*used));
  }
  return out;
}

}  // namespace

TEST_CASE("model_calls_are_the_usage_of_the_activation_in_which_they_end") {
  const auto of = spans({{"1", "", "invoke_agent boss", 0, 500, agent("boss")},
                         {"2", "1", "chat large", 10, 90, model_call("large", 100, 10)},
                         {"3", "1", "execute_tool ask", 100, 210, operation("execute_tool")},
                         {"4", "3", "invoke_agent clerk", 110, 200, agent("clerk")},
                         {"5", "4", "chat small", 120, 180, model_call("small", 7, 3)},
                         {"6", "1", "chat large", 300, 350, model_call("large", 200, 20)},
                         {"7", "1", "chat small", 360, 400, model_call("small", 1, 0)}});
  const lines expected{
      R"({"input_tokens":100,"output_tokens":10,"model_calls":1,"models":{"large":{"input_tokens":100,"output_tokens":10}}})",
      R"({"input_tokens":7,"output_tokens":3,"model_calls":1,"models":{"small":{"input_tokens":7,"output_tokens":3}}})",
      R"({"input_tokens":201,"output_tokens":20,"model_calls":2,"tool_calls":1,"models":{"large":{"input_tokens":200,)"
      R"("output_tokens":20},"small":{"input_tokens":1}}})"};
  REQUIRE(usages(of) == expected);
  std::vector<span> kept = of;
  for (span& s : kept) keep_essential(s, false);
  REQUIRE(usages(kept) == expected);
}

TEST_CASE("counts_of_an_agent_s_span_and_odd_counts_are_left_out") {
  json::object boss = agent("boss");
  boss["gen_ai.usage.input_tokens"] = 1000;
  json::object odd = operation("chat");
  odd["gen_ai.usage.input_tokens"] = -5;
  odd["gen_ai.usage.output_tokens"] = "many";
  json::object former = operation("chat");
  former["gen_ai.usage.prompt_tokens"] = 12;
  const auto of = spans({{"1", "", "invoke_agent boss", 0, 500, boss},
                         {"2", "1", "chat m", 10, 90, odd},
                         {"3", "1", "chat m", 100, 190, former}});
  REQUIRE(usages(of) == lines{R"({"input_tokens":12,"model_calls":2})"});
}
