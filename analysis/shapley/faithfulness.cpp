#include "analysis/shapley/faithfulness.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "analysis/shapley/purposes.h"

namespace digd::shapley {

namespace {
constexpr int random_orders = 100;
}

bool risk_drops(evaluator& ask, std::span<const double> scores, std::array<double, 2>& drops) {
  std::vector<player_index> order(scores.size());
  std::iota(order.begin(), order.end(), 0u);
  std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return scores[a] > scores[b]; });
  // Lane 0 keeps every action; lane 1 + c drops the first deleted_counts[c].
  std::vector<lane_mask> masks(scores.size(), every_lane);
  for (std::size_t c = 0; c < deleted_counts.size(); ++c) {
    for (std::size_t k = 0; k < std::min(deleted_counts[c], order.size()); ++k) {
      masks[order[k]] &= static_cast<lane_mask>(~(2u << c));
    }
  }
  double risk[lanes];
  if (!ask.values(masks, 1 + deleted_counts.size(), risk)) return false;
  for (std::size_t c = 0; c < deleted_counts.size(); ++c)
    drops[c] = risk[0] > 0 ? (risk[0] - risk[1 + c]) / risk[0] : 0;
  return true;
}

faithfulness judge(const game& game, std::span<const double> phi, std::uint64_t seed) {
  faithfulness out;
  const std::unique_ptr<evaluator> ask = game.make_evaluator();
  const auto fail = [&] {
    out.problem = ask->problem();
    return out;
  };
  if (!risk_drops(*ask, phi, out.shapley)) return fail();

  const std::vector<std::uint8_t> full_set(game.size(), 1);
  std::vector<player_index> everybody(game.size());
  std::iota(everybody.begin(), everybody.end(), 0u);
  std::vector<double> without(game.size());
  double whole;
  if (!value_of(*ask, full_set, whole) || !ask->flips(full_set, everybody, without.data())) return fail();
  for (double& w : without) w = whole - w;
  if (!risk_drops(*ask, without, out.leave_one_out)) return fail();

  std::vector<double> scores(game.size());
  std::array<double, 2> squares{};
  for (int k = 0; k < random_orders; ++k) {
    random_stream draw(seed, purpose::random_scores, static_cast<std::uint64_t>(k));
    for (double& s : scores) s = draw.uniform();
    std::array<double, 2> drops;
    if (!risk_drops(*ask, scores, drops)) return fail();
    for (std::size_t c = 0; c < drops.size(); ++c) {
      out.random[c] += drops[c] / random_orders;
      squares[c] += drops[c] * drops[c] / random_orders;
    }
  }
  for (std::size_t c = 0; c < squares.size(); ++c) {
    out.random_error[c] = std::sqrt(std::max(0.0, squares[c] - out.random[c] * out.random[c]) / (random_orders - 1));
  }
  return out;
}

}  // namespace digd::shapley
