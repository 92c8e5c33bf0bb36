#include "analysis/shapley/game.h"

#include <algorithm>

namespace digd::shapley {

std::string cast::name_of(player_index p) const {
  if (!names.empty()) return names[p];
  return agent_names[agent[p]] + " @ " + std::to_string(step[p] + 1);
}

void cast::add(std::uint32_t agent_of, std::uint32_t step_of, std::span<const std::uint16_t> types, bool is_null) {
  if (behaviour_begin.empty()) behaviour_begin.push_back(0);
  agent.push_back(agent_of);
  step.push_back(step_of);
  null.push_back(is_null ? 1 : 0);
  behaviours.insert(behaviours.end(), types.begin(), types.end());
  behaviour_begin.push_back(static_cast<std::uint32_t>(behaviours.size()));
}

// Evaluates sixteen successive sets at once: the k-th player of a block is toggled in lanes k, k+1, … 15.
bool evaluator::walk(std::span<const std::uint8_t> start, std::span<const player_index> order, double* out) {
  masks_.resize(start.size());
  for (std::size_t p = 0; p < start.size(); ++p) masks_[p] = start[p] ? every_lane : 0;
  for (std::size_t at = 0; at < order.size(); at += lanes) {
    const std::size_t count = std::min(lanes, order.size() - at);
    for (std::size_t k = 0; k < count; ++k) {
      masks_[order[at + k]] ^= static_cast<lane_mask>(every_lane << k);
    }
    if (!values(masks_, count, out + at)) return false;
    for (std::size_t k = 0; k < count; ++k) {
      masks_[order[at + k]] = masks_[order[at + k]] & 0x8000 ? every_lane : 0;
    }
  }
  return true;
}

bool evaluator::flips(std::span<const std::uint8_t> base, std::span<const player_index> toggled, double* out) {
  masks_.resize(base.size());
  for (std::size_t p = 0; p < base.size(); ++p) masks_[p] = base[p] ? every_lane : 0;
  for (std::size_t at = 0; at < toggled.size(); at += lanes) {
    const std::size_t count = std::min(lanes, toggled.size() - at);
    for (std::size_t k = 0; k < count; ++k) masks_[toggled[at + k]] ^= static_cast<lane_mask>(1u << k);
    if (!values(masks_, count, out + at)) return false;
    for (std::size_t k = 0; k < count; ++k) masks_[toggled[at + k]] ^= static_cast<lane_mask>(1u << k);
  }
  return true;
}

bool value_of(evaluator& ask, std::span<const std::uint8_t> set, double& out) {
  std::vector<lane_mask> masks(set.size());
  for (std::size_t p = 0; p < set.size(); ++p) masks[p] = set[p] ? 1 : 0;
  double risks[lanes];
  if (!ask.values(masks, 1, risks)) return false;
  out = risks[0];
  return true;
}

}  // namespace digd::shapley
