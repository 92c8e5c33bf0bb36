// The healing bench: the same seed gives the same run, arms are paired, nothing is lost between the world and the
// engine.
#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <set>
#include <sstream>

#include "bench/healing/arms.h"
#include "bench/healing/comparison_chart.h"
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
  for (const char* name : {"without", "observe", "control", "judge", "digd", "only deadlock"}) {
    INFO(name);
    for (std::uint64_t seed = 1; seed <= 5; ++seed) CHECK(played(middle, seed, name) == played(middle, seed, name));
  }
}

TEST_CASE("results_do_not_depend_on_the_number_of_threads") {
  std::vector<trial> trials;
  for (std::uint64_t seed = 1; seed <= 8; ++seed) trials.push_back({.where = small, .arm = "digd", .seed = seed});
  std::ostringstream stream, many;
  for (const trial_result& r : run_all(trials, 1, [](std::size_t) {})) write_line(stream, r);
  for (const trial_result& r : run_all(trials, 3, [](std::size_t) {})) write_line(many, r);
  CHECK(stream.str() == many.str());
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
      CHECK(with == played(where, seed, "without"));
    }
  }
}

TEST_CASE("where_nobody_follows_hints_an_arm_that_only_injects_text_is_observing_seed_by_seed") {
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

TEST_CASE("hints_that_are_followed_make_a_difference") {
  std::uint64_t different = 0;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    different += deeds(played(large, seed, "digd", 1)) != deeds(played(large, seed, "digd", 0));
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
  for (const std::vector<arm>* list : {&arms(), &tried()}) {
    for (const arm& a : *list) {
      INFO(a.name);
      for (std::uint64_t seed = 1; seed <= 5; ++seed) CHECK(play(middle, seed, a).counted.refused == 0);
    }
  }
}

TEST_CASE("an_answer_is_valid_if_it_counts_every_element_and_none_twice") {
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    for (const char* name : {"observe", "digd"}) {
      const outcome o = played(large, seed, name);
      CHECK(o.valid == (o.answered && o.missing == 0 && o.repeated == 0));
      CHECK(o.time_ms <= parameters{}.time_limit_ms);
      CHECK((o.answered || o.time_ms == parameters{}.time_limit_ms));
    }
  }
}

TEST_CASE("the_control_intervenes_as_often_as_digd_did_in_the_same_run_where_the_run_lasts_as_long") {
  std::uint64_t by_digd = 0, by_control = 0;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    const outcome model = played(middle, seed, "digd"), control = played(middle, seed, "control");
    CHECK(control.interventions <= model.interventions);
    by_digd += model.interventions;
    by_control += control.interventions;
  }
  CHECK(by_control * 3 > by_digd);
}

TEST_CASE("the_agents_find_in_digds_text_the_sentence_that_they_read_it_for") {
  const request asks =
      in_words_of(rule_id::early_termination, {}, {}, {{"holder", R"("a2")"}, {"free", R"("a3", "a1" and 4 more)"}})
          .asks;
  CHECK((asks.count_once && asks.redo && asks.only_whole && asks.again && asks.not_wait && !asks.wait));
  CHECK(asks.pass_on_to == "a2");
  CHECK(asks.to == std::vector<std::string>{"a3", "a1"});
  const request apart =
      in_words_of(rule_id::cross_lineage_aggregation, {}, {}, {{"agent", R"("a7")"}, {"younger", R"("e4")"}}).asks;
  CHECK(apart.reader == "a7");
  CHECK(apart.take_in == std::vector<std::string>{"e4"});
  CHECK_FALSE(in_words_of(rule_id::deadlock).asks.count_once);
  hint h{.rule = rule_id::early_termination};
  read_text("Wait for what others are working on.", h);
  CHECK((h.asks.wait && !h.asks.count_once && !h.asks.not_wait && h.asks.to.empty() && h.asks.pass_on_to.empty()));
}

TEST_CASE("each_rules_text_is_read_on_its_own") {
  paragraphs of("one\n\ntwo");
  CHECK(of.next() == "one");
  CHECK(of.next() == "two");
  CHECK(of.next().empty());
}

TEST_CASE("the_times_known_ms_and_found_ms_precede_the_end_of_a_run") {
  std::uint64_t found = 0;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    const outcome o = played(large, seed, "digd");
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
