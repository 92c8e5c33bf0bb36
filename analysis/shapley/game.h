// A game: the players, and the risk R_T of the trajectory in which only the players of a set act and all others follow
// the baseline (Interpreting Emergent Extreme Events in MAS, section 3.1, eq. 11: v(S) = R(S) - R(∅)).
//
// A game is constant and may be shared by threads; each thread uses an `evaluator` of its own. The risk is a function
// of the set: all random draws are recorded, and `values`, `walk` and `flips` give the same risk up to rounding of
// sums.
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

// Sets are evaluated sixteen at a time: bit l of a player's mask says whether set l keeps that player.
using lane_mask = std::uint16_t;
inline constexpr std::size_t lanes = 16;
inline constexpr lane_mask every_lane = 0xFFFF;

using player_index = std::uint32_t;

// The players a(i,t) and the groups they are summed by. Parallel arrays, one entry a player.
struct cast {
  std::vector<std::uint32_t> agent;            // i, index into agent_names
  std::vector<std::uint32_t> step;             // t, from 0
  std::vector<std::uint8_t> null;              // 1: the risk is known never to depend on it
  std::vector<std::uint32_t> behaviour_begin;  // size() + 1 entries, into `behaviours`
  std::vector<std::uint16_t> behaviours;       // types of each action; its φ is split evenly over them
  std::vector<std::string> agent_names;
  std::vector<std::string> behaviour_names;
  std::vector<std::string> names;  // of players; empty: named by agent and step
  std::size_t steps = 0;           // T

  std::size_t size() const { return agent.size(); }
  std::string name_of(player_index p) const;
  void add(std::uint32_t agent_of, std::uint32_t step_of, std::span<const std::uint16_t> types, bool is_null);
};

// Not thread-safe. On failure (say, of an external simulator) a call returns false and `problem` says why.
class evaluator {
 public:
  virtual ~evaluator() = default;

  // out[l] = R of the set of players whose mask has bit l, for l < count ≤ 16. `kept`: one mask a player.
  virtual bool values(std::span<const lane_mask> kept, std::size_t count, double* out) = 0;

  // Starts from the set `start` (one byte a player) and toggles the players of `order` one after another, each at most
  // once: out[k] = R after toggling order[k].
  virtual bool walk(std::span<const std::uint8_t> start, std::span<const player_index> order, double* out);

  // out[k] = R of `base` with only the player toggled[k] toggled.
  virtual bool flips(std::span<const std::uint8_t> base, std::span<const player_index> toggled, double* out);

  virtual std::string problem() const { return {}; }

 protected:
  std::vector<lane_mask> masks_;  // scratch of the default walk and flips
};

class game {
 public:
  virtual ~game() = default;

  virtual std::string_view kind() const = 0;  // econagent, …, structure, external
  virtual std::string title() const = 0;      // one line, for people
  virtual std::unique_ptr<evaluator> make_evaluator() const = 0;
  virtual void add_content(digest& to) const = 0;
  // R_t(Ω) - R_t(∅) by step; empty if the game does not know it.
  virtual std::vector<double> risk_curve() const { return {}; }
  // False if the same set may give another risk next time (external simulators); such results are not cached.
  virtual bool repeatable() const { return true; }
  // True if one evaluation takes long. Work is then split into small parts, so that a stop loses little.
  virtual bool slow() const { return false; }

  const cast& players() const { return players_; }
  std::size_t size() const { return players_.size(); }
  // ρ: the extreme event is v(Ω) > ρ. NaN if the game has none.
  double threshold() const { return threshold_; }
  bool synthetic() const { return synthetic_; }

 protected:
  cast players_;
  double threshold_ = std::numeric_limits<double>::quiet_NaN();
  bool synthetic_ = false;
};

// R of one set, given as one byte a player.
bool value_of(evaluator& ask, std::span<const std::uint8_t> set, double& out);

}  // namespace digd::shapley
