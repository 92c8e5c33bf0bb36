#include "analysis/shapley/social.h"

#include <algorithm>

namespace digd::shapley {

std::string social_trajectory::fault() const {
  const std::size_t cells = agents * steps;
  if (agents == 0 || agents > 1'000'000) return "agents: 1 to 1000000";
  if (steps == 0 || steps > 100'000 || cells > 100'000'000) return "steps: 1 to 100000, and at most 10^8 actions";
  const auto belief_like = [](double b) { return b >= -1 && b <= 1; };
  if (belief.size() != agents || !std::all_of(belief.begin(), belief.end(), belief_like)) {
    return "belief: one number an agent, -1 to 1";
  }
  if (posts.size() != cells || post_belief.size() != cells)
    return "posts, post_belief: one row a step, one entry an agent";
  if (!std::all_of(post_belief.begin(), post_belief.end(), belief_like)) return "post_belief: -1 to 1";
  if (view_begin.size() != cells + 1 || view_begin.front() != 0 || view_begin.back() != views.size() ||
      !std::is_sorted(view_begin.begin(), view_begin.end())) {
    return "views: one list a step and agent";
  }
  for (std::size_t c = 0; c < cells; ++c) {
    for (std::uint32_t v = view_begin[c]; v < view_begin[c + 1]; ++v) {
      if (views[v].author >= agents || views[v].author == c % agents) return "views: an author is another agent";
      if (!posts[c / agents * agents + views[v].author]) return "views: the author posted nothing in that step";
      for (std::uint32_t w = view_begin[c]; w < v; ++w) {
        if (views[w].author == views[v].author) return "views: a post is viewed once";
      }
    }
  }
  return {};
}

}  // namespace digd::shapley
