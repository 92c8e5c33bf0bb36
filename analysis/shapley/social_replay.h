// The social trajectory as the replays read it, and the incremental replay. Internal to analysis/shapley.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "analysis/shapley/social.h"

namespace digd::shapley {

// Cells are (agent, step) pairs, agent · steps + step.
struct social_graph {
  static constexpr std::uint32_t none = 0xFFFFFFFF;
  struct move {            // a like or dislike
    double post, sign;     // recorded belief of the post; +1 like, -1 dislike
    std::uint32_t author;  // cell
  };
  struct link {           // a view, from either end
    std::uint32_t other;  // the author's cell; of readers: the reader's
    std::uint32_t move;   // or none
    std::int8_t net;      // +1 like, -1 dislike, 0
  };

  explicit social_graph(const social_trajectory& t);

  std::size_t agents, steps;
  std::vector<double> belief;
  std::vector<std::uint8_t> posts;
  std::vector<std::uint32_t> view_begin, move_begin, reader_begin;  // cells + 1
  std::vector<link> views, readers;
  std::vector<move> moves;
};

// The replay of one set, changed one player at a time. A toggle touches the agent itself, the authors it viewed and the
// readers of its post; each of these is replayed from that step on, until its belief is again what it was.
// The risk is a function of the set: counts are integers, and sums are taken over a fixed tree.
class social_state {
 public:
  explicit social_state(const social_graph& g);

  void load(std::span<const std::uint8_t> set);
  void toggle(std::uint32_t cell);
  double risk() const;
  double risk_after(std::size_t step) const;  // the risk had the run ended there; slow

 private:
  void count_view(std::uint32_t author, std::int8_t net, int by);
  double advance(double b, std::uint32_t cell) const;
  void replay(std::size_t agent, std::size_t from);
  void set_leaf(std::size_t agent, double b);
  void mark(std::uint32_t cell);

  const social_graph& g_;
  std::vector<std::uint8_t> kept_, active_;  // by cell; by move
  std::vector<std::int32_t> views_, net_;    // by author's cell: what counts
  std::vector<double> after_;                // by cell: the belief after that step
  std::vector<std::uint32_t> marked_;        // agents to replay
  std::vector<std::uint8_t> is_marked_;
  std::size_t leaves_ = 1;            // of the tree of sums, a power of two; 0: too few agents for one
  std::vector<double> sum_, square_;  // node k has the children 2k and 2k + 1
};

}  // namespace digd::shapley
