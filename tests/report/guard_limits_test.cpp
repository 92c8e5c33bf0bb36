// The totals of past runs from which limits of guards are proposed, compared with values worked out by hand.
#include "report/stored_runs/guard_limits.h"

#include <catch2/catch.hpp>

using namespace digd::stored;

namespace {

// Throws if the run reported nothing of the kind.
double reached(const extent_reader& reader, std::string_view limit) { return reader.extent().at(limit); }

extent_reader read(std::initializer_list<std::string_view> lines) {
  extent_reader reader;
  for (const std::string_view line : lines) reader.take(line);
  return reader;
}

run_extent with_activations(double n) { return {{"max_activations", n}}; }

}  // namespace

TEST_CASE("a_message_with_a_deep_payload_counts") {
  const std::string deep = std::string(900, '[') + std::string(900, ']');
  const std::string line = R"({"type":"usage","ts":1,"activation":"v1","x":)" + deep + R"(,"usage":{"cost":0.5}})";
  CHECK(reached(read({line}), "max_cost") == 0.5);
}

TEST_CASE("usage_of_all_messages_is_added_up") {
  const extent_reader reader = read({
      R"({"type":"hello","ts":1})",
      R"({"type":"activation_started","ts":100,"activation":"v1","agent":"a","inputs":[],"usage":{"input_tokens":5}})",
      R"({"type":"usage","ts":200,"activation":"v1","usage":{"output_tokens":7,"cost":0.5,"model_calls":1}})",
      R"({"type":"activation_ended","ts":350,"activation":"v1","usage":{"cost":0.25,"tool_calls":2}})",
      R"({"type":"refused","ts":900,"usage":{"input_tokens":1000}})",
      "no JSON",
  });
  CHECK(reached(reader, "max_tokens") == 12);
  CHECK(reached(reader, "max_cost") == 0.75);
  CHECK(reached(reader, "max_model_calls") == 1);
  CHECK(reached(reader, "max_tool_calls") == 2);
  CHECK(reached(reader, "max_activations") == 1);
  CHECK(reached(reader, "max_ms") == 250);
}

TEST_CASE("depth_counts_what_an_output_is_derived_from_and_not_what_was_left") {
  const extent_reader reader = read({
      R"({"type":"event","event":{"id":"e1","recipients":["a"]}})",
      R"({"type":"activation_started","activation":"v1","agent":"a","inputs":["e1"]})",
      R"({"type":"activation_ended","activation":"v1","outputs":[{"id":"e2","recipients":["b"]}]})",
      R"({"type":"activation_started","activation":"v2","agent":"b","inputs":["e2"]})",
      R"({"type":"activation_ended","activation":"v2","reactions":{"e2":"wait"},"outputs":[{"id":"e3"}]})",
  });
  CHECK(reached(reader, "max_depth") == 1);  // e3 is derived from nothing
  CHECK(reached(reader, "max_outputs") == 1);
}

TEST_CASE("outputs_are_work_of_one_activation_and_repetitions_also_notices") {
  const extent_reader reader = read({
      R"({"type":"activation_started","activation":"v1","agent":"a","inputs":[]})",
      R"({"type":"event","event":{"id":"o1","source":"v1","recipients":["b","c"],"payload":{"q": 1}}})",
      R"({"type":"event","event":{"id":"o2","source":"v1","recipients":["c","b"],"payload":{"q":1},"fyi":true}})",
      R"({"type":"event","event":{"id":"o3","source":"v1","recipients":["b"],"payload":{"q":1}}})",
      R"({"type":"event","event":{"id":"o4","source":"v1","recipients":["b"]}})",
      R"({"type":"activation_ended","activation":"v1","outputs":[{"id":"o5","submit":true,"payload":1}]})",
  });
  CHECK(reached(reader, "max_outputs") == 3);
  CHECK(reached(reader, "max_repeats") == 2);
}

TEST_CASE("a_limit_is_the_percentile_times_the_margin_and_says_whom_it_would_have_stopped") {
  std::vector<run_extent> runs;
  for (int n = 1; n <= 100; ++n) runs.push_back(with_activations(n));
  runs.push_back(with_activations(1000));
  const auto limits = suggest_limits(runs, 99, 2);
  REQUIRE(limits.size() == 1);  // of what no run reported there is no limit
  CHECK(limits[0].limit->name == "max_activations");
  CHECK(limits[0].value == 200);
  CHECK(limits[0].stopped == 1);
  CHECK(limits[0].greatest == 1000);
  CHECK(suggest_limits({}, 99, 2).empty());
}

TEST_CASE("limits_are_suggested_in_the_order_of_the_guards_and_a_cost_keeps_its_fraction") {
  const run_extent run{{"max_repeats", 2}, {"max_outputs", 3}, {"max_depth", 4},      {"max_tokens", 5},
                       {"max_cost", 0.5},  {"max_ms", 100},    {"max_model_calls", 0}};
  std::vector<std::string> lines;
  for (const limit_suggestion& s : suggest_limits({run}, 99, 1.5)) {
    lines.push_back(std::string(to_string(s.guard)) + ' ' + std::string(s.limit->name) + ' ' + std::to_string(s.value));
  }
  CHECK(lines == std::vector<std::string>{"budget max_tokens 8.000000", "budget max_cost 0.750000",
                                          "budget max_ms 60000.000000", "fan_out max_depth 6.000000",
                                          "fan_out max_outputs 5.000000", "repetition max_repeats 3.000000"});
}

TEST_CASE("a_limit_that_few_runs_reported_is_at_least_what_they_reached") {
  std::vector<run_extent> runs(100, run_extent{});
  runs[0] = with_activations(37);
  CHECK(suggest_limits(runs, 50, 1).at(0).value == 37);
}
