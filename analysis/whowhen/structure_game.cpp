#include "analysis/whowhen/structure_game.h"

#include <algorithm>
#include <chrono>
#include <numeric>

#include "analysis/shapley/estimate.h"
#include "analysis/shapley/structure.h"
#include "analysis/whowhen/planted_structure.h"

namespace digd::whowhen {

namespace {

constexpr const char* method = "structure game";

// The activations by Shapley value, the largest first and of equal ones the earliest. None where nothing is blamed.
std::string rank(const shapley::game& game, answer& to, std::uint64_t seed) {
  const shapley::estimate_result r = shapley::estimate(game, {.samples = 100, .seed = seed});
  if (!r) return r.problem;
  if (!r.adds_risk()) return {};
  std::vector<std::size_t> order(game.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return r.phi.value[a] > r.phi.value[b]; });
  to.steps = order;
  to.agent = game.players().agent_names[game.players().agent[order.front()]];
  return {};
}

std::string add_run(results& into, std::optional<rule_id> rule, std::uint64_t seed) {
  const planted_trace planted = plant_structure(rule, seed);
  const shapley::structure_result made = shapley::make_structure_game(planted.trace, {});
  if (!made.problem.empty()) return made.problem;
  labelled_log truth;
  truth.agent = planted.agent;
  answer given;
  const auto from = std::chrono::steady_clock::now();
  if (std::string problem = rank(*made.game, given, seed); !problem.empty()) return problem;
  given.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - from).count();
  if (rule) {
    const std::vector<std::string>& names = made.game->players().names;
    truth.step = static_cast<std::size_t>(std::find(names.begin(), names.end(), planted.activation) - names.begin());
    given.failed = given.steps.empty();
  } else if (given.steps.empty()) {
    given.steps = {truth.step};
  } else {
    given.steps.clear();
  }
  add(into.at(rule ? std::string(to_string(*rule)) : "clean: nobody blamed", method), truth, given);
  return {};
}

}  // namespace

std::string add_structure(results& into, std::uint64_t seed) {
  for (const rule_id rule : planted_rules) {
    if (std::string problem = add_run(into, rule, seed); !problem.empty()) return problem;
  }
  return add_run(into, std::nullopt, seed);
}

}  // namespace digd::whowhen
