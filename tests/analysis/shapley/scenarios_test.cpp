#include <catch2/catch.hpp>
#include <numeric>

#include "analysis/shapley/purposes.h"
#include "analysis/shapley/trajectory.h"
#include "tests/analysis/shapley/literal.h"
#include "tests/analysis/shapley/support.h"

using namespace digd::shapley;
using namespace shapley_tests;

namespace {

using kept_cells = std::vector<std::vector<bool>>;

kept_cells cells_of(const cast& players, const std::vector<std::uint8_t>& set) {
  kept_cells kept(players.agent_names.size(), std::vector<bool>(players.steps, true));
  for (std::size_t p = 0; p < set.size(); ++p) kept[players.agent[p]][players.step[p]] = set[p] != 0;
  return kept;
}

std::vector<std::uint8_t> random_set(std::size_t n, std::uint64_t k) {
  digd::random_stream draw(7, purpose::test, k);
  const double q = draw.uniform();
  std::vector<std::uint8_t> s(n);
  for (auto& b : s) b = draw.chance(q);
  return s;
}

// `values`, `walk` and `flips` all agree with the literal replay.
template <class Literal>
void agrees(const game& g, Literal literal) {
  const std::unique_ptr<evaluator> ask = g.make_evaluator();
  const std::size_t n = g.size();
  const auto truth = [&](const std::vector<std::uint8_t>& s) {
    return Approx(literal(cells_of(g.players(), s))).epsilon(1e-9).margin(1e-15);
  };
  std::vector<lane_mask> masks(n, 0);
  std::vector<std::vector<std::uint8_t>> sets;
  for (std::size_t l = 0; l < lanes; ++l) {
    sets.push_back(l == 0   ? std::vector<std::uint8_t>(n, 1)
                   : l == 1 ? std::vector<std::uint8_t>(n, 0)
                            : random_set(n, l));
    for (std::size_t p = 0; p < n; ++p) masks[p] |= static_cast<lane_mask>(sets[l][p] << l);
  }
  double out[lanes];
  REQUIRE(ask->values(masks, lanes, out));
  for (std::size_t l = 0; l < lanes; ++l) CHECK(out[l] == truth(sets[l]));

  std::vector<std::uint8_t> set = random_set(n, 99);
  std::vector<player_index> order(n);
  std::iota(order.begin(), order.end(), 0u);
  digd::random_stream draw(3, purpose::test, 1);
  draw.shuffle(std::span(order));
  std::vector<double> flipped(n), walked(n);
  REQUIRE(ask->flips(set, order, flipped.data()));
  REQUIRE(ask->walk(set, order, walked.data()));
  for (std::size_t k = 0; k < n; k += 1 + n / 40) {
    std::vector<std::uint8_t> toggled = set;
    toggled[order[k]] ^= 1;
    CHECK(flipped[k] == truth(toggled));
  }
  for (std::size_t k = 0; k < n; ++k) {
    set[order[k]] ^= 1;
    if (k % (1 + n / 40) == 0) CHECK(walked[k] == truth(set));
  }
}

}  // namespace

TEST_CASE("econagents_fast_replay_is_the_literal_one") {
  for (const auto& [agents, steps] : std::vector<std::pair<std::size_t, std::size_t>>{{4, 5}, {10, 34}, {3, 4}}) {
    const econ_trajectory t = generate_econ(agents, steps, 11);
    agrees(*make_econ_game(t), [&](const kept_cells& k) { return literal_econ(t, k); });
  }
}

TEST_CASE("twinmarkets_fast_replay_equals_the_literal_replay_with_and_without_tables") {
  for (const auto& [agents, steps] : std::vector<std::pair<std::size_t, std::size_t>>{{4, 5}, {10, 27}, {60, 6}}) {
    const twin_trajectory t = generate_twin(agents, steps, 12);
    agrees(*make_twin_game(t), [&](const kept_cells& k) { return literal_twin(t, k); });
  }
}

TEST_CASE("socialnetworks_fast_replays_equal_the_literal_replay_by_sums_and_by_the_tree_of_sums") {
  for (const auto& [agents, steps] : std::vector<std::pair<std::size_t, std::size_t>>{{4, 5}, {20, 21}, {70, 8}}) {
    const social_trajectory t = generate_social(agents, steps, 5, 13);
    agrees(*make_social_game(t), [&](const kept_cells& k) { return literal_social(t, k); });
  }
}

TEST_CASE("the_actions_of_the_last_step_of_econagent_and_twinmarket_are_null_players") {
  for (const char* name : {"econagent", "twinmarket"}) {
    const generated made = generate({name, 4, 5, 5, 3}, false);
    const estimate_result r = estimate(*made.game, ask(estimator::exact));
    for (player_index p = 0; p < made.game->size(); ++p) {
      if (made.game->players().step[p] == 4) CHECK(r.phi.value[p] == 0);
    }
  }
}

TEST_CASE("players_marked_as_null_have_no_influence") {
  for (const char* name : {"econagent", "twinmarket", "socialnetwork"}) {
    const generated made = generate({name, 6, 8, 2, 3}, false);
    const std::unique_ptr<evaluator> ask = made.game->make_evaluator();
    const std::vector<std::uint8_t> set = random_set(made.game->size(), 5);
    double here;
    REQUIRE(value_of(*ask, set, here));
    for (player_index p = 0; p < made.game->size(); ++p) {
      if (!made.game->players().null[p]) continue;
      std::vector<std::uint8_t> other = set;
      other[p] ^= 1;
      double there;
      REQUIRE(value_of(*ask, other, there));
      CHECK(there == here);
    }
  }
}

TEST_CASE("a_generated_trajectory_is_synthetic_the_same_again_and_extreme_at_its_last_step_first") {
  for (const char* name : {"econagent", "twinmarket", "socialnetwork"}) {
    const generated made = generate({name, 8, 12, 5, 4}, true);
    REQUIRE(made.problem.empty());
    CHECK(made.game->synthetic());
    CHECK(made.json == generate({name, 8, 12, 5, 4}, true).json);
    CHECK(made.json != generate({name, 8, 12, 5, 5}, true).json);
    const std::vector<double> curve = made.game->risk_curve();
    CHECK(curve.back() > made.game->threshold());
    CHECK(*std::max_element(curve.begin(), curve.end() - 1) <= made.game->threshold());
    const estimate_result r = estimate(*made.game, ask(estimator::permutation, 1));
    CHECK(r.total == Approx(curve.back()).epsilon(1e-9));
  }
}

TEST_CASE("a_trajectory_read_back_is_the_same_game") {
  for (const char* name : {"econagent", "twinmarket", "socialnetwork"}) {
    const generated made = generate({name, 5, 6, 4, 8}, true);
    const trajectory_result back = read_trajectory(made.json);
    REQUIRE(back.problem == "");
    digest digest, two;
    made.game->add_content(digest);
    back.game->add_content(two);
    CHECK(digest.hex() == two.hex());
    CHECK(back.game->threshold() == made.game->threshold());
  }
}

TEST_CASE("an_invalid_trajectory_is_refused_with_its_field") {
  const auto problem_of = [](std::string text, const std::string& from, const std::string& to) {
    const std::size_t at = text.find(from);
    REQUIRE(at != std::string::npos);
    return read_trajectory(text.replace(at, from.size(), to)).problem;
  };
  const std::string econ = generate({"econagent", 3, 4, 0, 1}, true).json;
  CHECK(problem_of(econ, "\"skill\"", "\"skills\"") == "skill: expected a list");
  CHECK(problem_of(econ, "\"steps\":4", "\"steps\":5").find("one row a step") != std::string::npos);
  CHECK(problem_of(econ, "\"steps\":4", "\"steps\":3") == "steps: 4 to 100000");
  CHECK(problem_of(econ, "econagent", "elsewhere") == "scenario: expected econagent, twinmarket or socialnetwork");
  CHECK(read_trajectory("[]").problem == "it is not a JSON object");
  const std::string social = generate({"socialnetwork", 3, 4, 2, 1}, true).json;
  CHECK(problem_of(social, "\"belief\":[", "\"belief\":[7,").find("belief") == 0);
}

// The risk of each set agrees with the literal replay (above). These values pin the generator and the estimator. The
// tolerance leaves room for another mathematics library.
TEST_CASE("golden_values_of_the_three_scenarios", "[golden]") {
  struct golden {
    const char* name;
    double total, first, last;  // v(Ω); φ of the first and of the last player that is not null
  };
  const std::vector<golden> goldens{{"econagent", 3.28799132805e-05, 1.63470018031e-06, 2.27129824e-06},
                                    {"twinmarket", 0.000974244380486, -6.81610127608e-05, -0.000122642109025},
                                    {"socialnetwork", 0.119213579734, 0.00253684885814, 0.000394458961747}};
  for (const golden& g : goldens) {
    const generated made = generate({g.name, 4, 5, 3, 1}, false);
    const estimate_result r = estimate(*made.game, ask(estimator::exact));
    std::vector<double> phi;
    for (player_index p = 0; p < made.game->size(); ++p) {
      if (!made.game->players().null[p]) phi.push_back(r.phi.value[p]);
    }
    CAPTURE(g.name, r.total, phi.front(), phi.back());
    CHECK(r.total == Approx(g.total).epsilon(1e-7));
    CHECK(phi.front() == Approx(g.first).epsilon(1e-7));
    CHECK(phi.back() == Approx(g.last).epsilon(1e-7));
  }
}
