#include "report/observed.h"

#include <fmt/format.h>

#include "report/compose.h"
#include "report/lit_path.h"
#include "tests/report/picture/support.h"

namespace digd::report {

namespace {

observed observe(const std::vector<std::string>& lines, const observe_bounds& most = {}) {
  observer watch(most);
  for (const std::string& line : lines) {
    INFO(line << "\n" << watch.problem());
    REQUIRE(watch.line(line));
  }
  return watch.finish();
}

const agent_facts& agent(const observed& seen, std::string_view name) {
  for (const agent_facts& a : seen.agents) {
    if (a.name == name) return a;
  }
  FAIL("no agent " << name);
  return seen.agents.front();
}

// `n` agents that each send one event to a name outside the roster: one orphan each.
std::vector<std::string> crowd(int n) {
  std::vector<std::string> out{R"({"type":"hello","protocol":1,"run":"crowd","clock":"trace","agents":[]})"};
  for (int i = 0; i < n; ++i) {
    out.push_back(fmt::format(R"({{"type":"activation_started","seq":{},"ts":{},"activation":"v{}","agent":"a{}"}})",
                              2 * i + 1, 1000 * i, i, i));
    out.push_back(fmt::format(R"({{"type":"activation_ended","seq":{},"ts":{},"activation":"v{}","outputs":[)"
                              R"({{"id":"e{}","recipients":["gone"]}}]}})",
                              2 * i + 2, 1000 * i + 500, i, i));
  }
  return out;
}

gathered gather_lines(const std::vector<std::string>& lines, const graph_bounds& drawn = {}) {
  return gather(
      [&](const std::function<bool(std::string_view)>& each) {
        for (const std::string& line : lines) {
          if (!each(line)) break;
        }
        return std::string();
      },
      {}, drawn);
}

}  // namespace

TEST_CASE("activations_events_and_detections_are_counted") {
  const observed seen = observe(picture::troubled);
  CHECK(seen.run == "r1");
  CHECK(seen.messages == 6);
  CHECK(seen.events == 6);
  CHECK(seen.activations == 2);
  CHECK(seen.found == 3);
  CHECK(seen.healed == 3);
  CHECK(seen.system_events == 1);
  CHECK(seen.members() == 3);
  CHECK(agent(seen, "planner").outputs == 3);
  CHECK(agent(seen, "planner").busy_ms == 10);
  CHECK(agent(seen, "planner").consumed == 1);
  CHECK(agent(seen, "planner").findings == 1);
  CHECK_FALSE(agent(seen, "nobody").member);
  CHECK(seen.spans.size() == 2);
  CHECK(seen.pending_total == 3);
  REQUIRE(seen.leading() != nullptr);
  CHECK(seen.leading()->detection.rule == rule_id::orphaned_event);
  CHECK(seen.leading()->line == 4);
  CHECK(seen.leading()->inject.find("e4") != std::string::npos);
  CHECK(seen.leading()->recipients == std::vector<std::string>{"planner"});
}

TEST_CASE("reactions_are_counted_for_the_agent_and_for_the_pair_that_gave_and_got") {
  const observed seen = observe(picture::reactions);
  const agent_facts& a = agent(seen, "a");
  CHECK(a.waited == 1);
  CHECK(a.discarded == 1);
  CHECK(a.rerouted == 1);
  CHECK(a.consumed == 1);  // an input that was never announced
  CHECK(a.failed == 1);
  CHECK(agent(seen, "b").open == 1);
  CHECK(seen.open_at_end == 1);
  bool outside_to_a = false;
  for (const flow& f : seen.flows) {
    if (f.from == flow::outside && seen.agents[f.to].name == "a") {
      outside_to_a = true;
      CHECK(f.given == 3);
      CHECK(f.idle == 3);
    }
  }
  CHECK(outside_to_a);
}

TEST_CASE("an_outcome_finds_the_detection_that_it_is_about") {
  std::vector<std::string> lines = picture::troubled;
  lines.insert(
      lines.end(),
      {R"({"type":"activation_started","seq":7,"ts":2600,"activation":"v3","agent":"planner","inputs":["e4"]})",
       R"({"type":"activation_ended","seq":8,"ts":2700,"activation":"v3"})",
       R"({"type":"run_ended","seq":9,"ts":2800,"outcome":"failure"})"});
  const observed seen = observe(lines);
  CHECK(seen.ended == run_outcome::failure);
  std::size_t known = 0;
  for (const reported_detection& d : seen.detections) {
    known += d.outcome.has_value();
    if (d.detection.event && *d.detection.event == "e4") CHECK(d.outcome == outcome_kind::cleared);
  }
  CHECK(known >= 2);
  std::uint64_t counted = 0;
  for (const rule_facts& r : seen.rules) counted += r.outcomes[0] + r.outcomes[1] + r.outcomes[2];
  CHECK(counted == known);
}

TEST_CASE("a_long_run_takes_no_more_than_its_bounds_and_what_is_over_them_is_counted") {
  const observe_bounds most{
      .agents = 5, .flows = 4, .spans = 6, .detections = 7, .of_a_rule = 7, .bins = 8, .pending = 3, .notes = 2};
  const observed seen = observe(crowd(40), most);
  CHECK(seen.activations == 40);
  CHECK(seen.agents.size() == 6);
  CHECK(seen.agents.back().name == "all other agents");
  CHECK(seen.members() == 40);
  std::uint64_t activations = 0;
  for (const agent_facts& a : seen.agents) {
    activations += a.activations;
    CHECK(a.starts.size() == 8);
  }
  CHECK(activations == 40);
  CHECK(seen.flows.size() == 4);
  CHECK(seen.flows_left_out > 0);
  CHECK(seen.spans.empty());  // more than are listed one by one
  CHECK(seen.found >= 40);
  CHECK(seen.detections.size() <= 7 + rule_count);
  std::uint64_t in_bins = 0;
  for (const std::uint32_t n : seen.rules[index_of(rule_id::orphaned_event)].over_time) in_bins += n;
  CHECK(in_bins == seen.rules[index_of(rule_id::orphaned_event)].found);
  CHECK(seen.pending.size() <= 3);
}

TEST_CASE("bins_widen_until_a_time_fits_and_keep_what_they_counted") {
  time_bins bins{.start = 100, .width = 1, .max_bins = 4};
  CHECK(bins.doublings_for(103) == 0);
  const int times = bins.doublings_for(116);
  CHECK(times == 3);
  std::vector<std::uint32_t> counts{1, 2, 3, 4};
  halve(counts, 1);
  CHECK(counts == std::vector<std::uint32_t>{3, 7, 0, 0});
  bins.width <<= times;
  CHECK(bins.of(116) == 2);
  CHECK(bins.of(50) == 0);
  CHECK(time_bins{.start = 0, .width = 1, .max_bins = 120}.doublings_for(std::numeric_limits<milliseconds>::max() / 4) >
        40);
}

TEST_CASE("the_lit_path_goes_from_the_first_cause_through_the_suspect_to_the_detection") {
  const gathered run = gather_lines(picture::troubled);
  REQUIRE(run.problem.empty());
  const detection& orphan = run.seen.leading()->detection;
  const lit_path plain = light(run.graph.model, {&orphan}, {});
  REQUIRE(plain.stops.size() == 3);
  CHECK(plain.stops[0].id == "e1");
  CHECK(plain.stops[1].id == "v1");
  CHECK(plain.stops[1].agent == "planner");
  CHECK(plain.stops[2].id == "e4");
  CHECK(plain.by == nullptr);

  const std::vector<blamed> suspects{{.activation = "v9", .event = {}, .reason = "not in the graph"},
                                     {.activation = "v2", .event = {}, .reason = "number 1"}};
  std::vector<const detection*> detections;
  for (const reported_detection& d : run.seen.detections) detections.push_back(&d.detection);
  const lit_path by = light(run.graph.model, detections, suspects);
  REQUIRE(by.by == &suspects[1]);
  CHECK(by.to->rule == rule_id::early_termination);
  CHECK(by.stops.front().id == "e1");
  CHECK(by.stops.back().id == "e5");
  const auto place =
      std::find_if(by.stops.begin(), by.stops.end(), [](const lit_path::stop& s) { return s.id == "v2"; });
  CHECK(place != by.stops.end());
}

TEST_CASE("of_a_long_run_only_the_part_about_the_leading_detection_is_kept") {
  std::vector<std::string> lines{R"({"type":"hello","protocol":1,"run":"long","clock":"trace","agents":["a"]})"};
  for (int i = 0; i < 500; ++i) {
    lines.push_back(fmt::format(R"({{"type":"event","seq":{},"ts":{},"event":{{"id":"e{}","recipients":["{}"]}}}})",
                                i + 1, i, i, i == 300 ? "gone" : "a"));
  }
  const gathered run = gather_lines(lines, {.nodes = 10, .nodes_of_part = 10, .rows = 60, .lines_before = 20});
  CHECK_FALSE(run.graph.whole);
  CHECK(run.graph.model.rows.size() <= 60);
  CHECK(run.graph.model.find_event("e300") != picture::none);
  CHECK(run.graph.model.find_event("e100") == picture::none);
}

TEST_CASE("a_limit_that_degraded_the_run_is_noted_and_counts_as_no_message") {
  const observed seen = observe({R"({"type":"hello","protocol":1,"run":"r","clock":"trace","agents":["a"]})",
                                 R"({"type":"event","seq":1,"ts":1,"event":{"id":"e1","recipients":["a"]}})",
                                 R"({"type":"limit","limit":"live_events","policy":"gap","ts":2})",
                                 R"({"type":"limit","limit":"live_events","policy":"observe","ts":3})"});
  CHECK(seen.messages == 1);
  REQUIRE(seen.notes.size() == 2);
  CHECK(seen.notes[0].text == "the limit live_events was reached; what was pending counts as lost (gap)");
  CHECK(seen.notes[1].text == "the limit live_events was reached; from here on nothing is judged");
}

TEST_CASE("text_that_is_no_trace_is_reported") {
  CHECK(gather_lines({R"({"type":"event"})"}).problem.find("hello") != std::string::npos);
  CHECK(gather_lines({}).problem.find("no trace") != std::string::npos);
}

}  // namespace digd::report
