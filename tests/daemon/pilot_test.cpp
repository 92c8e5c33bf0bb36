// What /v1/pilot is made of: intervals against published figures, the draw of the canary, names and places.
#include <catch2/catch.hpp>

#include "daemon/runs/place.h"
#include "daemon/settings/canary.h"
#include "report/stored_runs/intervals.h"
#include "report/stored_runs/pilot.h"

namespace digd::daemon {
namespace {

stored::sample sample_of(std::initializer_list<double> values) {
  stored::sample values_seen;
  for (const double value : values) values_seen.add(value);
  return values_seen;
}

TEST_CASE("a_share_has_the_interval_of_wilson") {
  const auto some = stored::wilson({15, 148});  // Newcombe (1998), table I, method 3
  REQUIRE(some);
  CHECK(some->low == Approx(0.0624).margin(5e-5));
  CHECK(some->high == Approx(0.1605).margin(5e-5));
  const auto none = stored::wilson({0, 20});
  CHECK(none->low == 0);
  CHECK(none->high == Approx(0.1611).margin(5e-5));
  CHECK(stored::wilson({20, 20})->high == 1);
  CHECK_FALSE(stored::wilson({0, 0}));
}

TEST_CASE("a_difference_of_shares_has_the_interval_of_newcombe") {
  const auto both = stored::newcombe({56, 70}, {48, 80});  // Newcombe (1998), example (a), method 10
  REQUIRE(both);
  CHECK(both->value == Approx(0.2));
  CHECK(both->low == Approx(0.0524).margin(5e-5));
  CHECK(both->high == Approx(0.3339).margin(5e-5));
  CHECK(stored::newcombe({9, 10}, {3, 10})->low == Approx(0.1705).margin(5e-5));  // example (b)
  CHECK(stored::newcombe({9, 10}, {3, 10})->high == Approx(0.8090).margin(5e-5));
  CHECK_FALSE(stored::newcombe({1, 2}, {0, 0}));
}

TEST_CASE("means_have_the_intervals_of_student_and_welch") {
  const stored::sample a = sample_of({1, 2, 3, 4, 5}), b = sample_of({2, 2, 2, 2, 2});
  CHECK(a.mean() == 3);
  CHECK(a.variance() == 2.5);
  CHECK(stored::mean_interval(a)->high == Approx(3 + 2.776445105 * 0.7071067812));
  CHECK(stored::mean_interval(b)->low == 2);
  // All of the variance comes from a: as many degrees of freedom as a has.
  CHECK(stored::welch(a, b)->low == Approx(1 - 2.776445105 * 0.7071067812));
  // Equal sizes and variances: twice as many.
  CHECK(stored::welch(a, sample_of({11, 12, 13, 14, 15}))->low == Approx(-10 - 2.306004135 * 1));
  CHECK(stored::welch(b, b)->high == 0);
  CHECK_FALSE(stored::mean_interval(sample_of({1})));
  CHECK_FALSE(stored::welch(a, sample_of({1})));
}

TEST_CASE("a_time_span_is_a_number_and_a_unit") {
  CHECK(stored::duration_ms("90m") == 5'400'000);
  CHECK(stored::duration_ms("36h") == 129'600'000);
  CHECK(stored::duration_ms("7d") == 604'800'000);
  CHECK(stored::duration_ms("4w") == 4 * 604'800'000LL);
  for (const char* bad : {"", "d", "7", "0d", "-1d", "7dd", "1.5d", " 7d", "5300w", "99999999999999999999d"})
    CHECK_FALSE(stored::duration_ms(bad));
}

TEST_CASE("a_detections_name_says_its_entry_and_its_place_there") {
  for (const char* name : {"1", "812", "812.2", "9223372036854775807"}) {
    const auto read = stored::detection_name_from(name);
    REQUIRE(read);
    CHECK(to_string(*read) == name);
  }
  CHECK(stored::detection_name_from("812.1")->place_in_entry == 1);
  for (const char* bad : {"", "0", "-1", "x", "1.", ".1", "1.0", "1.-1", "1.2.3", "1 ", "99999999999999999999"})
    CHECK_FALSE(stored::detection_name_from(bad));
}

hello asking(const std::string& run, std::optional<mode> mode) {
  hello asked;
  asked.run = run;
  asked.mode = mode;
  return asked;
}

TEST_CASE("the_draw_depends_on_the_runs_id_alone_and_keeps_what_a_smaller_share_chose") {
  CHECK(canary_fraction("run-1") == canary_fraction("run-1"));
  CHECK(canary_fraction("abc") == Approx(0xba7816bf8f01cfeaULL / 18446744073709551616.0));  // SHA-256, FIPS 180
  const run_policy policy;
  int small = 0, large = 0;
  for (int i = 0; i < 10'000; ++i) {
    const hello asked = asking("run-" + std::to_string(i), mode::shadow);
    const bool in_small = draw_canary(asked, policy, 0.1, mode::enforce) == canary_group::enforce;
    const bool in_large = draw_canary(asked, policy, 0.5, mode::enforce) == canary_group::enforce;
    CHECK((!in_small || in_large));
    small += in_small;
    large += in_large;
  }
  CHECK(small == Approx(1'000).margin(120));  // four standard deviations
  CHECK(large == Approx(5'000).margin(200));
}

TEST_CASE("only_runs_that_may_be_enforced_and_do_not_say_otherwise_are_drawn") {
  run_policy policy;
  const auto group = [&](std::optional<mode> given_mode, mode operators = mode::enforce, double share = 1) {
    return draw_canary(asking("r", given_mode), policy, share, operators);
  };
  CHECK(group(mode::shadow) == canary_group::enforce);
  CHECK(group(std::nullopt) == canary_group::enforce);
  CHECK(group(mode::shadow, mode::enforce, 0) == canary_group::none);
  for (const mode asked : {mode::off, mode::observe, mode::enforce}) CHECK(group(asked) == canary_group::none);
  CHECK(group(mode::shadow, mode::shadow) == canary_group::none);
  policy.defaults.mode = mode::observe;
  CHECK(group(std::nullopt) == canary_group::none);
  CHECK(group(mode::shadow) == canary_group::enforce);
  policy.strongest_mode = mode::shadow;
  CHECK(group(mode::shadow) == canary_group::none);
}

TEST_CASE("the_group_is_recorded_in_the_opening_frame") {
  for (const canary_group group : {canary_group::shadow, canary_group::enforce}) {
    std::string frame = R"({"type":"hello","labels":{"canary":"none"}})";
    append_group(frame, group);
    CHECK(recorded_group(frame) == group);
  }
  std::string frame = R"({"type":"hello","labels":{"canary":"enforce"}})";
  append_group(frame, canary_group::none);
  CHECK(recorded_group(frame) == canary_group::none);
  CHECK(recorded_group("{") == canary_group::none);
}

TEST_CASE("the_group_is_read_from_a_hello_that_nests_deeply") {
  std::string frame = R"({"type":"hello","more":)" + std::string(500, '[') + std::string(500, ']') + '}';
  append_group(frame, canary_group::enforce);
  CHECK(recorded_group(frame) == canary_group::enforce);
}

detection found(rule_id rule, std::optional<std::string> event, std::optional<std::string> agent = {}) {
  detection made;
  made.rule = rule;
  made.event = std::move(event);
  made.agent = std::move(agent);
  made.witness.events = {{"e1", "critic"}, {"root", ""}};
  made.witness.edges = {{witness::edge_kind::pending, "e1", "writer", reaction::none},
                        {witness::edge_kind::pending, "root", "editor", reaction::none},
                        {witness::edge_kind::generated, "v1", "e1", reaction::none}};
  return made;
}

TEST_CASE("a_place_names_agents_and_no_ids") {
  CHECK(place_of(found(rule_id::excessive_rerouting, "e1")) == "critic → writer");
  CHECK(place_of(found(rule_id::early_termination, "e1")) == "critic → answer");
  CHECK(place_of(found(rule_id::cross_lineage_aggregation, "e1", "judge")) == "critic → judge");
  CHECK(place_of(found(rule_id::excessive_rerouting, "root")) == "outside → editor");
  CHECK(place_of(found(rule_id::deadlock, {})) == "critic → writer, outside → editor");
  detection orphan = found(rule_id::orphaned_event, "e1");
  orphan.evidence = {"d", "c", "b", "a"};
  CHECK(place_of(orphan) == "critic → a, b, c, …");
  orphan.evidence = {std::string(99, 'x') + "éééé"};
  CHECK(place_of(orphan) == "critic → " + std::string(99, 'x') + "…");
  detection idle = found(rule_id::missing_termination, {}, "planner");
  idle.witness.edges.clear();
  CHECK_FALSE(place_of(idle));
}

TEST_CASE("the_subject_is_the_agent_that_except_would_name") {
  CHECK(subject_of(found(rule_id::orphaned_event, "e1")) == "critic");
  CHECK(subject_of(found(rule_id::cross_lineage_aggregation, "e1", "judge")) == "judge");
  CHECK_FALSE(subject_of(found(rule_id::orphaned_event, "root")));
  CHECK_FALSE(subject_of(found(rule_id::deadlock, {})));
}

}  // namespace
}  // namespace digd::daemon
