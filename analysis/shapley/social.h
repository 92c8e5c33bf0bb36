// socialnetwork: posts, views, likes and dislikes move beliefs (scenario socialnetwork; Interpreting Emergent Extreme
// Events in MAS, B.3, eq. 28-33). The baseline neither posts nor interacts. Views are of posts of the same step.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "analysis/shapley/game.h"

namespace digd::shapley {

enum class reacts : std::uint8_t { none, like, dislike };

struct social_view {
  std::uint32_t author;
  digd::shapley::reacts reacts;
};

struct social_trajectory {
  std::size_t agents = 0, steps = 0;
  std::vector<double> belief;             // agents; b_0 on [-1, 1]
  std::vector<std::uint8_t> posts;        // steps × agents
  std::vector<double> post_belief;        // steps × agents; recorded p, valid where `posts`
  std::vector<std::uint32_t> view_begin;  // steps × agents + 1, into `views`
  std::vector<social_view> views;         // in chronological order
  double threshold = 0;
  bool synthetic = false;
  std::uint64_t seed = 0;

  std::string fault() const;  // empty if sound, else the field and the expectation
};

std::unique_ptr<game> make_social_game(social_trajectory t);

// `views`: maximum for an agent in a step.
social_trajectory generate_social(std::size_t agents, std::size_t steps, std::size_t views, std::uint64_t seed);

// One update of a belief; shared by the replays and the generator. eq. 28 with s(b) of eq. 29: δ s(b) |p - b| towards
// the post for a like, away from it for a dislike, beliefs kept in [-1, 1]. sign: +1 like, -1 dislike.
inline double move_belief(double b, double p, double sign) {
  constexpr double delta = 0.1, base = 0.5, alpha = 0.5;
  const double size = b < 0 ? -b : b;
  const double to = b + sign * (delta * base) * (1 - alpha * size) * (p - b);
  return to < -1 ? -1 : to > 1 ? 1 : to;
}

// The factor of eq. 30: 1 + ρ (L - D)/V; 1 without views.
inline double feedback(int net_likes, int views) {
  constexpr double rho = 0.5;
  return views > 0 ? 1 + rho * net_likes / views : 1;
}

inline double clamp_belief(double b) { return b < -1 ? -1 : b > 1 ? 1 : b; }

}  // namespace digd::shapley
