// A game: who the players are, and the risk R_T of the trajectory in which only the players of a set act and all
// others do what is safe (Interpreting Emergent Extreme Events in MAS, section 3.1, eq. 11: v(S) = R(S) - R(∅)).
//
// A game is constant and shared by threads. Each thread asks it through an `evaluator` of its own. The risk is a
// function of the set: all draws are recorded, and every way of asking (batch, walk, flips) gives the same value up to
// the rounding of sums.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/shapley/digest.h"

namespace digd::shapley {

// Sets are asked sixteen at a time: bit l of a player's mask says whether set l keeps it.
using lane_mask = std::uint16_t;
inline constexpr std::size_t lanes = 16;
inline constexpr lane_mask every_lane = 0xFFFF;

using player_index = std::uint32_t;

// The players a(i,t) and what they are summed by. Parallel arrays, one entry a player.
struct cast {
  std::vector<std::uint32_t> agent;            // i, index into agent_names
  std::vector<std::uint32_t> step;             // t, from 0
  std::vector<std::uint8_t> null;              // 1: the risk is known never to depend on it
  std::vector<std::uint32_t> behaviour_begin;  // size() + 1 entries, into `behaviours`
  std::vector<std::uint16_t> behaviours;       // the types an action has; φ is split evenly over them
  std::vector<std::string> agent_names;
  std::vector<std::string> behaviour_names;
  std::vector<std::string> names;  // of players; empty: agent and step name them
  std::size_t steps = 0;           // T

  std::size_t size() const { return agent.size(); }
  std::string name_of(player_index p) const;
  void add(std::uint32_t agent_of, std::uint32_t step_of, std::span<const std::uint16_t> types, bool is_null);
};

// Not thread-safe. A failure (an external simulator that is gone) makes a call return false; `problem` says why.
class evaluator {
 public:
  virtual ~evaluator() = default;

  // out[l] = R of the set of the players whose mask has bit l, for l < count ≤ 16. kept: one mask a player.
  virtual bool values(std::span<const lane_mask> kept, std::size_t count, double* out) = 0;

  // Toggles the players of `order` one after another, beginning with the set `start` (a byte a player), and stays
  // there: out[k] = R after order[k]. No player occurs twice.
  virtual bool walk(std::span<const std::uint8_t> start, std::span<const player_index> order, double* out);

  // out[k] = R of `base` with only which[k] toggled.
  virtual bool flips(std::span<const std::uint8_t> base, std::span<const player_index> which, double* out);

  virtual std::string problem() const { return {}; }

 protected:
  std::vector<lane_mask> masks_;  // scratch of the default walk and flips
};

class game {
 public:
  virtual ~game() = default;

  virtual std::string_view kind() const = 0;  // econagent, …, structure, external
  virtual std::string title() const = 0;      // one line for people
  virtual std::unique_ptr<evaluator> make_evaluator() const = 0;
  virtual void add_content(digest& to) const = 0;
  // R_t - R_t(∅) of the whole trajectory, by step; empty if the game does not know it.
  virtual std::vector<double> risk_curve() const { return {}; }
  // False: an evaluation may differ next time (an external simulator), so nothing is cached.
  virtual bool repeatable() const { return true; }
  // A value takes long: work is handed out in small parts, so that progress shows and a stop loses little.
  virtual bool slow() const { return false; }

  const cast& players() const { return players_; }
  std::size_t size() const { return players_.size(); }
  // ρ: the extreme event is v(Ω) > ρ. Not a number if the game has none.
  double threshold() const { return threshold_; }
  bool synthetic() const { return synthetic_; }

 protected:
  cast players_;
  double threshold_ = std::numeric_limits<double>::quiet_NaN();
  bool synthetic_ = false;
};

// R of one set, a byte a player.
bool value_of(evaluator& ask, std::span<const std::uint8_t> set, double& out);

}  // namespace digd::shapley
