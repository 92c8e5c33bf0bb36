// Runs that are gathered from spans: which traces become one run, and the limits of a run.
#include <catch2/catch.hpp>
#include <ctime>
#include <string>
#include <utility>
#include <vector>

#include "daemon/otlp/gathering.h"

namespace digd::daemon {
namespace {

std::string padded(std::size_t n, std::size_t size) {
  std::string text = std::to_string(n);
  return std::string(size - text.size(), '0') + text;
}
std::string trace_id(std::size_t n) { return padded(n, 32); }
std::string run_id(std::size_t n) { return "otlp-" + trace_id(n); }

// An agent's span of this trace, with links to other traces.
otlp::span agent_span(std::size_t trace, const std::vector<std::size_t>& links = {}, std::size_t id = 1) {
  otlp::span s;
  s.trace = trace_id(trace);
  s.id = padded(id, 16);
  s.name = "invoke_agent a";
  s.start_ns = s.end_ns = 1;
  s.attributes = {{"gen_ai.operation.name", "invoke_agent"}, {"gen_ai.agent.name", "a"}};
  for (const std::size_t link : links) s.links.push_back({trace_id(link), padded(1, 16)});
  s.from = std::make_shared<const otlp::origin>();
  return s;
}

struct gathering_fixture {
  otlp_settings settings;
  gathering runs{settings};
  std::int64_t batch = 0;

  gathering::taken add(std::vector<otlp::span> spans) { return runs.add(std::move(spans), ++batch, 100, 1'000); }
};

}  // namespace

TEST_CASE("linked_traces_are_one_run_named_after_the_smallest_trace_with_spans") {
  gathering_fixture gathered;
  gathered.add({agent_span(5, {3}), agent_span(7, {5})});
  REQUIRE(gathered.runs.runs() == 1);
  REQUIRE(gathered.runs.find(run_id(5)) != nullptr);  // trace 3 has no span: its run may have ended before a restart
  gathered.add({agent_span(3)});
  REQUIRE(gathered.runs.runs() == 1);
  REQUIRE(gathered.runs.find(run_id(3)) != nullptr);
}

TEST_CASE("accepted_spans_do_not_join_a_run_that_is_ending") {
  gathering_fixture gathered;
  gathered.add({agent_span(1)});
  gathered_run* ending = gathered.runs.find(run_id(1));
  ending->seq = 5;
  ending->ending = true;
  gathered.runs.changed(*ending);
  gathered.add({agent_span(2)});
  gathered.add({agent_span(2, {1}, 2), agent_span(1, {2}, 2)});  // the second is late
  REQUIRE(gathered.runs.runs() == 2);
  REQUIRE(gathered.runs.find(run_id(2))->spans.size() == 2);
  REQUIRE(gathered.runs.unmergeable() == 2);
}

TEST_CASE("while_the_oldest_run_is_ending_no_other_run_makes_room") {
  gathering_fixture gathered;
  gathered.add({agent_span(1), agent_span(2)});
  gathered.runs.find(run_id(1))->ending = true;
  REQUIRE(gathered.runs.oldest() == nullptr);
  gathered.runs.remove(*gathered.runs.find(run_id(1)), true);
  REQUIRE(gathered.runs.oldest() == gathered.runs.find(run_id(2)));
}

TEST_CASE("the_time_to_gather_a_run_trace_by_trace_does_not_grow_with_their_square") {
  for (const bool newest_first : {false, true}) {
    // The processor time of `repeats` runs that each grow to this number of traces.
    const auto gather = [newest_first](std::size_t traces, std::size_t repeats) {
      const std::clock_t begun = std::clock();
      for (; repeats > 0; --repeats) {
        gathering_fixture gathered;
        for (std::size_t i = 1; i < traces; ++i) {
          const std::size_t n = newest_first ? traces - i : i;
          gathered.add({agent_span(n, {newest_first ? n + 1 : n - 1})});
        }
        REQUIRE(gathered.runs.runs() == 1);
        REQUIRE(gathered.runs.spans() == traces - 1);
      }
      return std::clock() - begun;
    };
    constexpr std::size_t parts = 16;
    const std::clock_t in_parts = gather(gathering::max_run_traces / parts, parts);
    const std::clock_t whole = gather(gathering::max_run_traces, 1);
    CHECK(whole < 6 * in_parts);  // linear: about the same; quadratic: 16 times
  }
}

TEST_CASE("links_beyond_the_limits_of_a_run_are_dropped_and_counted") {
  gathering_fixture gathered;
  std::size_t next = 10;
  const auto links = [&](std::size_t count) {
    std::vector<std::size_t> to;
    while (to.size() < count) to.push_back(next++);
    return to;
  };
  for (std::size_t span = 1; next < 10 + gathering::max_run_traces - 1; ++span) {
    const std::size_t left = 10 + gathering::max_run_traces - 1 - next;
    REQUIRE(gathered.add({agent_span(1, links(std::min<std::size_t>(left, 100)), span)}).dropped_links == 0);
  }
  REQUIRE(gathered.runs.find(run_id(1))->traces.size() == gathering::max_run_traces);
  REQUIRE(gathered.add({agent_span(1, links(5), 9'000)}).dropped_links == 5);

  gathering_fixture other;
  const std::vector<std::size_t> same_trace(1'000, 1);
  for (std::size_t span = 1; span <= gathering::max_run_links / 1'000; ++span) {
    REQUIRE(other.add({agent_span(1, same_trace, span)}).dropped_links == 0);
  }
  REQUIRE(other.add({agent_span(1, same_trace, 9'000)}).dropped_links == 1'000);
  REQUIRE(other.runs.find(run_id(1))->spans.back().links.empty());
}

TEST_CASE("runs_with_too_many_spans_together_are_not_merged") {
  gathering_fixture gathered{.settings = {.run_spans = 100}};
  for (std::size_t i = 1; i <= 60; ++i) gathered.add({agent_span(1, {}, i), agent_span(2, {}, i)});
  gathered.add({agent_span(1, {2}, 61)});
  REQUIRE(gathered.runs.runs() == 2);
  REQUIRE(gathered.runs.unmergeable() == 1);
}

TEST_CASE("a_restart_keeps_spans_that_were_accepted_under_a_higher_limit") {
  gathering_fixture gathered{.settings = {.run_spans = 100}};
  std::vector<otlp::span> spans;
  for (std::size_t i = 1; i <= 150; ++i) spans.push_back(agent_span(1, {}, i));
  auto again = spans;
  REQUIRE(gathered.add(std::move(spans)).over == 50);
  gathering_fixture restarted{.settings = {.run_spans = 100}};
  REQUIRE(restarted.runs.restore(std::move(again), 1, 100, 1'000).accepted == 150);
}

}  // namespace digd::daemon
