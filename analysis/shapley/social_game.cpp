// The game of a socialnetwork trajectory: sixteen sets in one full replay, or one set changed player by player.
#include <algorithm>
#include <bit>

#include "analysis/shapley/clones.h"
#include "analysis/shapley/social.h"
#include "analysis/shapley/social_replay.h"

namespace digd::shapley {

namespace {

using lane_values = double[lanes];

// Moves sixteen beliefs at once; lanes outside `active` keep theirs.
DIGD_CLONES
void move_lanes(double* b, double p, double sign, lane_mask active) {
  alignas(64) lane_values to;
  for (std::size_t l = 0; l < lanes; ++l) to[l] = move_belief(b[l], p, sign);
  if (active == every_lane) {
    for (std::size_t l = 0; l < lanes; ++l) b[l] = to[l];
  } else {
    for (std::size_t l = 0; l < lanes; ++l) b[l] = active >> l & 1 ? to[l] : b[l];
  }
}

// Full replay of sixteen sets. Agents influence each other only through recorded beliefs, so each agent is replayed on
// its own.
class lane_replay {
 public:
  explicit lane_replay(const social_graph& g) : g_(g) {}

  void values(const lane_mask* kept, std::size_t count, double* out) {
    final_.resize(g_.agents * lanes);
    for (std::size_t i = 0; i < g_.agents; ++i) replay_agent(i, kept, &final_[i * lanes]);
    // eq. 33: population variance
    const double share = 1.0 / static_cast<double>(g_.agents);
    for (std::size_t l = 0; l < count; ++l) {
      double sum = 0, squares = 0;
      for (std::size_t i = 0; i < g_.agents; ++i) sum += final_[i * lanes + l];
      const double mean = sum * share;
      for (std::size_t i = 0; i < g_.agents; ++i)
        squares += (final_[i * lanes + l] - mean) * (final_[i * lanes + l] - mean);
      out[l] = squares * share;
    }
  }

 private:
  void replay_agent(std::size_t i, const lane_mask* kept, double* b) {
    std::fill_n(b, lanes, g_.belief[i]);
    for (std::size_t s = 0; s < g_.steps; ++s) {
      const std::size_t cell = i * g_.steps + s;
      const lane_mask mine = kept[cell];
      if (mine == 0) continue;
      for (std::uint32_t m = g_.move_begin[cell]; m < g_.move_begin[cell + 1]; ++m) {
        const social_graph::move& move = g_.moves[m];
        const lane_mask active = mine & kept[move.author];
        if (active != 0) move_lanes(b, move.post, move.sign, active);
      }
      if (g_.reader_begin[cell] != g_.reader_begin[cell + 1]) hear(cell, mine, kept, b);
    }
  }

  void hear(std::size_t cell, lane_mask mine, const lane_mask* kept, double* b) {
    int total = 0, net = 0;
    int views[lanes] = {}, likes[lanes] = {};
    bool mixed = false;
    for (std::uint32_t r = g_.reader_begin[cell]; r < g_.reader_begin[cell + 1]; ++r) {
      const lane_mask active = mine & kept[g_.readers[r].other];
      if (active == every_lane) {
        ++total;
        net += g_.readers[r].net;
      } else if (active != 0) {
        mixed = true;
        for (lane_mask bits = active; bits != 0; bits &= static_cast<lane_mask>(bits - 1)) {
          const int l = std::countr_zero(bits);
          ++views[l];
          likes[l] += g_.readers[r].net;
        }
      }
    }
    if (!mixed && net == 0) return;
    if (!mixed) {
      const double factor = feedback(net, total);
      for (std::size_t l = 0; l < lanes; ++l) b[l] = clamp_belief(b[l] * factor);
      return;
    }
    for (std::size_t l = 0; l < lanes; ++l) b[l] = clamp_belief(b[l] * feedback(net + likes[l], total + views[l]));
  }

  const social_graph& g_;
  std::vector<double> final_;
};

class social_game final : public game {
 public:
  explicit social_game(social_trajectory t) : t_(std::move(t)), graph_(t_) {
    threshold_ = t_.threshold;
    synthetic_ = t_.synthetic;
    players_.steps = t_.steps;
    for (std::size_t i = 0; i < t_.agents; ++i) players_.agent_names.push_back("user " + std::to_string(i + 1));
    players_.behaviour_names = {"silent, likes", "silent, no reaction", "silent, dislikes",
                                "posts, likes",  "posts, no reaction",  "posts, dislikes"};
    // Players are in the order of cells (social_replay.h).
    for (std::size_t i = 0; i < t_.agents; ++i) {
      for (std::size_t s = 0; s < t_.steps; ++s) add_player(i, s);
    }
  }

  std::string_view kind() const override { return "socialnetwork"; }
  std::string title() const override {
    return "socialnetwork, " + std::to_string(t_.agents) + " agents, " + std::to_string(t_.steps) + " steps";
  }
  std::unique_ptr<evaluator> make_evaluator() const override;
  void add_content(digest& to) const override {
    to.add(std::string_view("socialnetwork"));
    to.add(static_cast<std::uint64_t>(t_.agents));
    to.add(static_cast<std::uint64_t>(t_.steps));
    to.add(std::span<const double>(t_.belief));
    to.add(std::span<const std::uint8_t>(t_.posts));
    to.add(std::span<const double>(t_.post_belief));
    to.add(std::span<const std::uint32_t>(t_.view_begin));
    for (const social_view& v : t_.views) to.add(std::uint64_t{v.author} << 2 | static_cast<std::uint64_t>(v.reacts));
  }
  std::vector<double> risk_curve() const override {
    social_state with_all(graph_), with_none(graph_);
    with_all.load(std::vector<std::uint8_t>(size(), 1));
    with_none.load(std::vector<std::uint8_t>(size(), 0));
    std::vector<double> curve(t_.steps);
    for (std::size_t s = 0; s < t_.steps; ++s) curve[s] = with_all.risk_after(s) - with_none.risk_after(s);
    return curve;
  }
  const social_graph& graph() const { return graph_; }

 private:
  void add_player(std::size_t i, std::size_t s) {
    const std::size_t cell = i * t_.steps + s;
    const bool post = graph_.posts[cell] != 0;
    bool has[3] = {};  // like, none, dislike: the order of the names
    for (std::uint32_t v = graph_.view_begin[cell]; v < graph_.view_begin[cell + 1]; ++v)
      has[1 - graph_.views[v].net] = true;
    if (!has[0] && !has[2]) has[1] = true;
    std::vector<std::uint16_t> types;
    for (std::uint16_t k = 0; k < 3; ++k) {
      if (has[k]) types.push_back(static_cast<std::uint16_t>(k + (post ? 3 : 0)));
    }
    const bool alone = graph_.view_begin[cell] == graph_.view_begin[cell + 1] &&
                       graph_.reader_begin[cell] == graph_.reader_begin[cell + 1];
    players_.add(static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(s), types, alone);
  }

  social_trajectory t_;
  social_graph graph_;
};

class social_evaluator final : public evaluator {
 public:
  explicit social_evaluator(const social_graph& g) : lanes_(g), state_(g) {}

  bool values(std::span<const lane_mask> kept, std::size_t count, double* out) override {
    lanes_.values(kept.data(), count, out);
    return true;
  }
  bool walk(std::span<const std::uint8_t> start, std::span<const player_index> order, double* out) override {
    state_.load(start);
    for (std::size_t k = 0; k < order.size(); ++k) {
      state_.toggle(order[k]);
      out[k] = state_.risk();
    }
    return true;
  }
  bool flips(std::span<const std::uint8_t> base, std::span<const player_index> toggled, double* out) override {
    state_.load(base);
    for (std::size_t k = 0; k < toggled.size(); ++k) {
      state_.toggle(toggled[k]);
      out[k] = state_.risk();
      state_.toggle(toggled[k]);
    }
    return true;
  }

 private:
  lane_replay lanes_;
  social_state state_;
};

std::unique_ptr<evaluator> social_game::make_evaluator() const { return std::make_unique<social_evaluator>(graph_); }

}  // namespace

std::unique_ptr<game> make_social_game(social_trajectory t) { return std::make_unique<social_game>(std::move(t)); }

}  // namespace digd::shapley
