// The socialnetwork trajectory in the form that the replays read, and the incremental replay. Internal to
// analysis/shapley.
//
// Thread: a `social_graph` is constant: any; a `social_state` one at a time. Lifetime: the graph outlives its states.
// Bounds: a few words for each cell.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "analysis/shapley/social.h"

namespace digd::shapley {

// A cell is an (agent, step) pair with the index agent · steps + step; arrays are by cell unless stated otherwise.
struct social_graph {
  static constexpr std::uint32_t none = 0xFFFFFFFF;
  struct move {            // a like or dislike, which moves a belief
    double post, sign;     // recorded belief of the post; +1 like, -1 dislike
    std::uint32_t author;  // cell
  };
  struct link {           // a view, seen from one of its ends
    std::uint32_t other;  // the cell at the other end: in `views` the author's, in `readers` the reader's
    std::uint32_t move;   // index into `moves`, or none
    std::int8_t net;      // +1 like, -1 dislike, 0
  };

  explicit social_graph(const social_trajectory& t);

  std::size_t agents, steps;
  std::vector<double> belief;
  std::vector<std::uint8_t> posts;
  std::vector<std::uint32_t> view_begin, move_begin, reader_begin;  // cells + 1 entries
  std::vector<link> views, readers;
  std::vector<move> moves;
};

// The replay of one set, changed one player at a time. A toggle affects the agent itself, the authors that it viewed
// and the readers of its post. Each of these is replayed from that step on until its belief is the same as before. The
// risk is a function of the set alone: counts are integers, and sums are taken over a fixed tree. Not thread-safe.
class social_state {
 public:
  explicit social_state(const social_graph& g);

  void load(std::span<const std::uint8_t> set);
  void toggle(std::uint32_t cell);
  double risk() const;
  double risk_after(std::size_t step) const;  // the risk if the run had ended there; slow

 private:
  void count_view(std::uint32_t author, std::int8_t net, int by);
  double advance(double b, std::uint32_t cell) const;
  void replay(std::size_t agent, std::size_t from);
  void set_leaf(std::size_t agent, double b);
  void mark(std::uint32_t cell);

  const social_graph& g_;
  std::vector<std::uint8_t> kept_, active_;  // by cell; by move
  std::vector<std::int32_t> views_, net_;    // by author's cell: views and likes minus dislikes that count
  std::vector<double> after_;                // by cell: the belief after that step
  std::vector<std::uint32_t> marked_;        // agents to replay
  std::vector<std::uint8_t> is_marked_;
  std::size_t leaves_ = 1;            // of the tree of sums, a power of two; 0: no tree, too few agents
  std::vector<double> sum_, square_;  // by tree node; node k has the children 2k and 2k + 1
};

}  // namespace digd::shapley
