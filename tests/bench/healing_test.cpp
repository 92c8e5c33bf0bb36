// The healing bench: the same seed gives the same run, arms are paired, nothing is lost between the world and the
// engine.
#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <set>
#include <sstream>

#include "bench/healing/arms.h"
#include "bench/healing/comparison_chart.h"
#include "bench/healing/control.h"
#include "bench/healing/engine_monitor.h"
#include "bench/healing/reading.h"
#include "bench/healing/study.h"

using namespace digd;
using namespace digd::bench;

namespace {

constexpr cell small{3, 1'000}, middle{6, 5'000}, large{20, 10'000};
constexpr std::uint64_t seeds = 25;

// The outcome of a run without the counts of its monitor.
auto deeds(const outcome& o) {
  return std::tuple(o.answered, o.valid, o.missing, o.repeated, o.rmse, o.time_ms, o.calls, o.counted.detections);
}

outcome played(const cell& where, std::uint64_t seed, const std::string& name, double follow = 0.75) {
  const arm* treatment = arm_named(name);
  REQUIRE(treatment != nullptr);
  parameters parameters;
  parameters.follow = follow;
  return play(where, seed, *treatment, parameters);
}

using names = std::multiset<std::string>;

names pending_at(const digd::run& r, const std::string& agent) {
  names out;
  const auto a = r.graph().find_agent(agent);
  if (a == graph::nobody) return out;
  for (const graph::event_index e : r.graph().agent(a).pending) out.insert(r.graph().event(e).id);
  return out;
}

}  // namespace

TEST_CASE("the_same_cell_seed_and_arm_give_the_same_run") {
  for (const char* name : {"plain", "observe", "enforce", "blind", "random", "judge", "only deadlock"}) {
    INFO(name);
    for (std::uint64_t seed = 1; seed <= 5; ++seed) CHECK(played(middle, seed, name) == played(middle, seed, name));
  }
}

TEST_CASE("results_do_not_depend_on_the_number_of_threads") {
  std::vector<trial> trials;
  for (std::uint64_t seed = 1; seed <= 8; ++seed) trials.push_back({.where = small, .arm = "enforce", .seed = seed});
  std::ostringstream stream, many;
  for (const trial_result& r : run_all(trials, {}, 1, [](std::size_t) {})) write_line(stream, r);
  for (const trial_result& r : run_all(trials, {}, 3, [](std::size_t) {})) write_line(many, r);
  CHECK(stream.str() == many.str());
}

TEST_CASE("a_result_is_a_line_with_its_members_in_order_and_numbers_of_six_digits") {
  trial_result result{.trial = {.where = small, .arm = "enforce", .follow = 0.25, .seed = 7}, .measured = {}};
  result.measured.valid = true;
  result.measured.rmse = 1234.56789;
  result.measured.tokens = 12.9;
  result.measured.counted.detections[0] = 2;
  result.measured.scored.had[0] = true;
  std::ostringstream out;
  write_line(out, result);
  const std::string line = out.str();
  INFO(line);
  CHECK(line.starts_with(
      R"({"agents":3,"integers":1000,"arm":"enforce","follow":0.25,"seed":7,"answered":false,"valid":true,"missing":0,)"
      R"("repeated":0,"rmse":1234.57,"computed":0,"known_ms":-1,"found_ms":-1,"time_ms":0,"calls":0,"tokens":12,)"
      R"("texts_read":0,"texts_followed":0,"answers":0,"valid_returned":0,"interventions":0,"refused":0,)"
      R"("detections":{")" +
      std::string(failure_rule_names[0]) + R"(":2,)"));
  CHECK(line.find(R"(},"had":{")" + std::string(failure_rule_names[0]) + R"(":true,)") != std::string::npos);
  CHECK(line.ends_with(R"(":0}})"
                       "\n"));
}

TEST_CASE("rules_that_do_not_heal_are_set_to_observe") {
  const arm* treatment = arm_named("all but " + std::string(failure_rule_names[0]));
  REQUIRE(treatment != nullptr);
  CHECK(treatment->asks ==
        R"("mode":"enforce","rules":{")" + std::string(failure_rule_names[0]) + R"(":{"mode":"observe"}})");
}

TEST_CASE("seeds_give_different_runs") {
  std::set<milliseconds> times;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) times.insert(played(middle, seed, "observe").time_ms);
  CHECK(times.size() > seeds / 2);
}

TEST_CASE("observing_changes_nothing") {
  for (const cell& where : {small, middle, large}) {
    for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
      outcome with = played(where, seed, "observe");
      CHECK(with.interventions == 0);
      with.counted = {};
      with.scored.right = {};
      CHECK(with == played(where, seed, "plain"));
    }
  }
}

TEST_CASE("where_nobody_follows_texts_an_arm_that_only_injects_text_is_observing_seed_by_seed") {
  for (const char* rule : {"excessive_rerouting", "cross_lineage_aggregation", "repeated_subproblem"}) {
    std::uint64_t injected = 0;
    for (const cell& where : {small, middle, large}) {
      for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
        const outcome o = played(where, seed, std::string("only ") + rule, 0);
        injected += o.interventions;
        CHECK(deeds(o) == deeds(played(where, seed, "observe", 0)));
      }
    }
    INFO(rule);
    CHECK(injected > 0);
  }
}

TEST_CASE("texts_that_are_followed_make_a_difference") {
  std::uint64_t different = 0;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    different += deeds(played(large, seed, "enforce", 1)) != deeds(played(large, seed, "enforce", 0));
  }
  CHECK(different > seeds / 2);
}

TEST_CASE("after_every_message_the_agents_buffers_equal_the_engines_pending_deliveries") {
  std::uint64_t messages = 0;
  for (const cell& where : {small, middle, large}) {
    for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
      engine_monitor digd("\"mode\":\"enforce\"");
      world w(where, seed, {}, digd);
      report last;
      w.on_report = [&](const report& r) {
        ++messages;
        last = r;
      };
      w.on_settled = [&] {
        if (last.type == message_type::run_ended || digd.run().terminal()) return;
        for (std::size_t a = 0; a < w.names().size(); ++a) {
          const std::vector<std::string> held = w.buffer_of(static_cast<int>(a));
          if (names(held.begin(), held.end()) != pending_at(digd.run(), w.names()[a])) {
            FAIL(w.names()[a] << " at " << last.ts << " in seed " << seed);
          }
        }
      };
      const outcome o = w.live();
      CHECK(o.counted.refused == 0);
    }
  }
  CHECK(messages > 1'000);
}

TEST_CASE("the_engine_refuses_no_message_of_the_world_in_any_arm") {
  for (const std::vector<arm>* round : {&arms(), &second_round_arms()}) {
    for (const arm& a : *round) {
      INFO(a.name);
      for (std::uint64_t seed = 1; seed <= 5; ++seed) CHECK(play(middle, seed, a).counted.refused == 0);
    }
  }
}

TEST_CASE("selective_early_termination_flags_some_answers_less_and_none_more") {
  const std::size_t rule = index_of(rule_id::early_termination);
  std::size_t fewer = 0;
  for (std::uint64_t seed = 1; seed <= 4 * seeds; ++seed) {
    const outcome usual = played(small, seed, "observe"), selective = played(small, seed, "observe, selective");
    CHECK(selective.counted.detections[rule] <= usual.counted.detections[rule]);
    CHECK(selective.time_ms == usual.time_ms);
    fewer += selective.counted.detections[rule] < usual.counted.detections[rule];
  }
  CHECK(fewer > 0);
}

TEST_CASE("beside_the_blind_guard_all_rules_but_early_termination_heal") {
  std::size_t healed = 0, returned = 0;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    const outcome o = played(middle, seed, "blind and all but early_termination");
    CHECK(o.counted.healed[index_of(rule_id::early_termination)] == 0);
    for (const std::uint64_t n : o.counted.healed) healed += n;
    returned += o.answers > 1;
  }
  CHECK(healed > 0);
  CHECK(returned > 0);
}

TEST_CASE("an_answer_is_valid_if_it_counts_every_element_and_none_twice") {
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    for (const char* name : {"observe", "enforce"}) {
      const outcome o = played(large, seed, name);
      CHECK(o.valid == (o.answered && o.missing == 0 && o.repeated == 0));
      CHECK(o.time_ms <= parameters{}.time_limit_ms);
      CHECK((o.answered || o.time_ms == parameters{}.time_limit_ms));
    }
  }
}

TEST_CASE("random_texts_come_at_most_as_often_as_digd_intervenes_and_return_nothing") {
  std::uint64_t by_digd = 0, random = 0;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    const outcome model = played(middle, seed, "enforce"), o = played(middle, seed, "random");
    CHECK(o.interventions <= model.interventions);
    CHECK(o.valid_returned == 0);
    CHECK(o.answers <= 1);
    by_digd += model.interventions;
    random += o.interventions;
  }
  CHECK(random * 3 > by_digd);
}

TEST_CASE("where_nobody_follows_random_texts_they_change_nothing_but_wake_agents") {
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    const outcome o = played(middle, seed, "random", 0);
    CHECK(o.texts_followed == 0);
    CHECK(o.valid == played(middle, seed, "plain", 0).valid);
  }
}

TEST_CASE("the_blind_guard_returns_the_first_three_answers_and_accepts_the_fourth") {
  std::uint64_t most = 0;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    const outcome o = played(middle, seed, "blind", 0);
    CHECK(o.interventions == std::min<std::uint64_t>(3, o.answers));
    CHECK(o.answered == (o.answers > 3));
    most = std::max(most, o.answers);
  }
  CHECK(most == 4);
}

TEST_CASE("the_judge_acts_at_most_three_times_and_costs_time") {
  std::uint64_t acts = 0;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    const outcome o = played(middle, seed, "judge"), plain = played(middle, seed, "plain");
    CHECK(o.interventions <= 3);
    CHECK((!plain.answered || o.time_ms > plain.time_ms));
    acts += o.interventions;
  }
  CHECK(acts > 0);
}

TEST_CASE("a_text_is_read_for_its_quoted_names_alone") {
  CHECK(names_in(R"(See "e4" of agent "a2" (waiting at "a3", "a2").)") == std::vector<std::string>{"e4", "a2", "a3"});
  CHECK(names_in("Count nothing twice. Wait.").empty());
  CHECK(names_in(R"(an open "quote)").empty());
  CHECK(names_in(blind_text).empty());
  CHECK(names_in(neutral_text).empty());
}

TEST_CASE("two_texts_with_the_same_names_have_the_same_effect") {
  const arm* digd = arm_named("enforce");
  REQUIRE(digd != nullptr);
  arm other = *digd;
  other.asks += R"(,"rules":{"missing_termination":{"text":"Blue {agent} green."}})";
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    CHECK(deeds(play({1, 1'000}, seed, other)) == deeds(play({1, 1'000}, seed, *digd)));
  }
}

TEST_CASE("agents_do_not_know_what_they_lack") {
  // The agents of two systems see the same labels, so they decide alike, whatever the results truly count.
  const draws chance(3);
  const problem task(1'000, chance);
  const std::vector<std::string> agents{"a1", "a2"};
  const auto decided = [&](const cover& truth) {
    std::vector<item> items{{.id = "e0",
                             .kind = item_kind::solution,
                             .result = {.counts = {}, .counted = truth},
                             .label = cover(range{0, 1'000}),
                             .source = 1,
                             .reply_to = 0}};
    agent self{.number = 0, .activations = 1};
    return act(self, {{.number = 0}}, {{}, task, chance, 2, items, agents, {{"e0", 0}}});
  };
  for (const cover& truth : {cover(range{0, 1'000}), cover(range{0, 10}), cover()}) {
    const decision d = decided(truth);
    REQUIRE(d.outputs.size() == 1);
    CHECK(d.outputs.front().submit);
  }
}

TEST_CASE("a_detection_is_right_if_the_work_that_it_names_is_lacking_in_the_end") {
  const std::vector<item> items{{.id = "e0", .kind = item_kind::problem, .part = {0, 50}},
                                {.id = "e1", .kind = item_kind::problem, .part = {50, 100}},
                                {.id = "e2",
                                 .kind = item_kind::solution,
                                 .result = {.counts = {}, .counted = cover(range{0, 50})},
                                 .submitted = true}};
  const std::map<std::string, int> by_id{{"e0", 0}, {"e1", 1}, {"e2", 2}};
  const std::vector<item_history> histories{{.consumed = true}, {}, {}};
  const auto found = [](rule_id rule, const char* event) {
    detection d;
    d.rule = rule;
    d.event = event;
    return d;
  };
  const std::vector<detection> detections{found(rule_id::orphaned_event, "e0"), found(rule_id::orphaned_event, "e1"),
                                          found(rule_id::early_termination, "e2"), found(rule_id::deadlock, "")};
  const scores s = score({{0, 100}, items, by_id, histories, 2}, detections);
  CHECK(s.right[index_of(rule_id::orphaned_event)] == 1);
  CHECK(s.right[index_of(rule_id::early_termination)] == 1);
  CHECK(s.right[index_of(rule_id::deadlock)] == 0);
  CHECK(s.had[index_of(rule_id::orphaned_event)]);
  CHECK(s.had[index_of(rule_id::early_termination)]);
  CHECK_FALSE(s.had[index_of(rule_id::deadlock)]);
  CHECK_FALSE(s.had[index_of(rule_id::repeated_subproblem)]);
  const scores none_given = score({{0, 100}, items, by_id, histories, std::nullopt}, detections);
  CHECK(none_given.right[index_of(rule_id::deadlock)] == 1);
  CHECK(none_given.had[index_of(rule_id::missing_termination)]);
}

TEST_CASE("the_times_known_ms_and_found_ms_precede_the_end_of_a_run") {
  std::uint64_t found = 0;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    const outcome o = played(large, seed, "enforce");
    if (o.found_ms >= 0) CHECK((o.known_ms >= 0 && o.known_ms <= o.found_ms && o.found_ms <= o.time_ms));
    if (o.known_ms >= 0) CHECK(o.computed >= large.integers);
    CHECK((!o.valid || o.found_ms >= 0));
    found += o.found_ms >= 0;
  }
  CHECK(found > 0);
}

TEST_CASE("a_result_that_counts_elements_twice_is_recognised") {
  cover once(range{0, 10}), twice = once;
  twice.add(cover(range{5, 8}));
  CHECK((twice.repeats() && !once.repeats() && !cover().repeats()));
}

TEST_CASE("ranges_add_up_gaps_are_found") {
  cover c(range{0, 10});
  c.add(cover(range{20, 30}));
  CHECK(c.missing_in({0, 40}) == std::vector<range>{{10, 20}, {30, 40}});
  CHECK(c.distinct() == 20);
  c.add(cover(range{5, 25}));
  CHECK(c.missing_in({0, 30}).empty());
  CHECK(c.counted() == 40);
  CHECK(c.distinct() == 30);
  CHECK_FALSE(c.is_exactly({0, 30}));
  CHECK(c.holds_all_of(cover(range{3, 29})));
  CHECK_FALSE(c.holds_all_of(cover(range{3, 31})));
  CHECK(c.overlaps(cover(range{29, 40})));
  CHECK_FALSE(c.overlaps(cover(range{30, 40})));
  cover halves(range{0, 15});
  halves.add(cover(range{15, 30}));
  CHECK(halves.is_exactly({0, 30}));
}

TEST_CASE("a_models_count_errs_more_on_more_data_and_not_at_all_without_error") {
  const draws chance(7);
  const problem task(10'000, chance);
  parameters exact;
  exact.error_most = 0;
  CHECK(task.count(task.whole(), exact, chance.at(purpose::error)).counts == task.truth(task.whole()));
  CHECK(task.rmse(task.truth(task.whole())) == 0);
  double few = 0, total = 0;
  for (std::uint64_t i = 0; i < 100; ++i) {
    const auto off = [&](range part) {
      const table guess = task.count(part, {}, chance.at(purpose::error, 0, i)).counts, right = task.truth(part);
      double sum = 0;
      for (std::size_t v = 0; v < guess.size(); ++v) sum += std::abs(guess[v] - right[v]) / right[v];
      return sum;
    };
    few += off({0, 200});
    total += off(task.whole());
  }
  CHECK(few * 1.5 < total);
}

TEST_CASE("a_chart_shows_each_point_with_its_interval_and_escapes_texts") {
  const auto chart = [](const char* across, const char* points) {
    return comparison_chart(std::string(R"({"title":"a < b","subtitle":"","x":"agents","y":"%","across":)") + across +
                            R"(,"low":0,"high":100,"panels":[{"title":"p","categories":["1","3"]}],)"
                            R"("series":[{"name":"digd","panels":[)" +
                            points + "]}]}");
  };
  const std::string upwards = chart("false", "[[50,40,60],[70]]");
  CHECK(upwards.find("a &lt; b") != std::string::npos);
  CHECK(upwards.find("digd, 1: 50.0 (40.0 … 60.0)") != std::string::npos);
  CHECK(upwards.find("digd, 3: 70.0<") != std::string::npos);
  CHECK(chart("true", "[[50,40,60],[70]]").find("digd, 1: 50.0 (40.0 … 60.0)") != std::string::npos);
  CHECK_THROWS_WITH(chart("false", "[[50]]"), Catch::Contains("expected a point for each category"));
  CHECK_THROWS_WITH(chart("false", "[[50,40],[70]]"), Catch::Contains("expected a point as"));
}
