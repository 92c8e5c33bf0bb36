#include "analysis/shapley/econ.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "analysis/shapley/clones.h"
#include "analysis/shapley/volatility.h"

namespace digd::shapley {

namespace {

constexpr double hours = 168;
constexpr double rate_unit = 0.02;
constexpr double safe_rate = 0.8;  // the baseline also works
constexpr double first_interest = 0.03;
// Monthly income tax: a bracket's rate is the sum of the steps up to it.
constexpr double bracket_from[7] = {0, 9700. / 12, 39475. / 12, 84200. / 12, 160725. / 12, 204100. / 12, 510300. / 12};
constexpr double bracket_step[7] = {.10, .02, .10, .02, .08, .03, .02};

using lane_values = double[lanes];

// The state between two steps of sixteen replays side by side.
struct economy {
  explicit economy(std::size_t agents) : coin(agents * lanes), skill(agents * lanes) {}
  std::vector<double> coin, skill;  // agents × lanes
  alignas(64) lane_values products, price, interest;
  alignas(64) lane_values change, error, risk;  // π_t, e_t, h_t
};

// The part of the trajectory that one step reads, and the lanes that keep each of its actions.
struct step_input {
  std::size_t agents, step;
  const std::uint8_t *works, *rate;
  const std::uint16_t* order;
  const double* skill_draw;
  double price_draw;
  const lane_mask* kept;  // agents; of this step's actions
};

// ln(b/a) for |b/a - 1| ≤ 0.1, by eight terms of the series of artanh; exact to the last bits, since x² ≤ 0.0028.
inline double log_ratio(double a, double b) {
  const double x = (b - a) / (b + a), y = x * x;
  const double tail =
      y * (1. / 3 + y * (1. / 5 + y * (1. / 7 + y * (1. / 9 + y * (1. / 11 + y * (1. / 13 + y / 15))))));
  return 2 * x * (1 + tail);
}

inline void fill(double* out, double recorded, double safe, lane_mask kept) {
  if (kept == 0 || kept == every_lane) {
    const double same = kept ? recorded : safe;
    for (std::size_t l = 0; l < lanes; ++l) out[l] = same;
    return;
  }
  for (std::size_t l = 0; l < lanes; ++l) out[l] = kept >> l & 1 ? recorded : safe;
}

// Sums over the agents that pass from one part of a step to the next.
struct step_sums {
  alignas(64) lane_values labour = {}, taxes = {}, demand = {};
  alignas(64) lane_values supply, per_price;
};

// Parts 1 and 2 of a step: labour, tax, and the equal distribution of the taxes.
DIGD_CLONES
void work_and_pay_tax(const step_input& in, economy& s, step_sums& sums) {
  alignas(64) lane_values work, dividend;
  const double share = 1.0 / static_cast<double>(in.agents);
  for (std::size_t i = 0; i < in.agents; ++i) {
    double* coin = &s.coin[i * lanes];
    const double* skill = &s.skill[i * lanes];
    fill(work, in.works[i], 1, in.kept[i]);
    for (std::size_t l = 0; l < lanes; ++l) {
      const double income = hours * work[l] * skill[l];
      double tax = bracket_step[0] * income;
      for (int b = 1; b < 7; ++b) tax += bracket_step[b] * std::max(income - bracket_from[b], 0.0);
      const double had = coin[l] + income;
      const double paid = std::min(had, tax);
      coin[l] = had - paid;
      sums.taxes[l] += paid;
      sums.labour[l] += work[l];
    }
  }
  for (std::size_t l = 0; l < lanes; ++l) {
    s.products[l] += hours * sums.labour[l];
    dividend[l] = sums.taxes[l] * share;
  }
  for (std::size_t i = 0; i < in.agents; ++i) {
    double* coin = &s.coin[i * lanes];
    for (std::size_t l = 0; l < lanes; ++l) coin[l] += dividend[l];
  }
}

// Part 3: consumption, one agent after another.
DIGD_CLONES
void consume(const step_input& in, economy& s, step_sums& sums) {
  alignas(64) lane_values rate;
  for (std::size_t l = 0; l < lanes; ++l) {
    sums.supply[l] = s.products[l];
    sums.per_price[l] = 1 / s.price[l];
  }
  for (std::size_t k = 0; k < in.agents; ++k) {
    const std::size_t i = in.order[k];
    double* coin = &s.coin[i * lanes];
    fill(rate, rate_unit * in.rate[i], safe_rate, in.kept[i]);
    for (std::size_t l = 0; l < lanes; ++l) {
      const double wanted = coin[l] * rate[l];
      const double d = wanted * sums.per_price[l];
      const bool scarce = s.products[l] < d;
      const double spent = scarce ? s.products[l] * s.price[l] : wanted;
      s.products[l] = scarce ? 0 : s.products[l] - d;
      coin[l] -= spent;
      sums.demand[l] += d;
    }
  }
}

// Parts 4 and 5: prices, risk, interest, skills.
DIGD_CLONES
void adjust_prices(const step_input& in, economy& s, const step_sums& sums) {
  alignas(64) lane_values pull, growth;
  const double share = 1.0 / static_cast<double>(in.agents);
  for (std::size_t l = 0; l < lanes; ++l) {
    const double larger = std::max(sums.demand[l], sums.supply[l]);
    pull[l] = larger > 0 ? (sums.demand[l] - sums.supply[l]) / larger : 0;
    const double old = s.price[l];
    s.price[l] = std::max(1.0, old * (1 + 0.1 * pull[l] * in.price_draw));
    if (in.step > 0) {
      const double inflation = (s.price[l] - old) * sums.per_price[l];
      const double unemployment = 1 - sums.labour[l] * share;
      s.interest[l] = std::max(0.0, 0.03 + 0.5 * (inflation - 0.02) + 0.5 * (0.04 - unemployment));
      const double change = log_ratio(old, s.price[l]);
      const double error = change - s.change[l];
      const double older = s.error[l] * s.error[l];
      if (in.step == 2) s.risk[l] = error * error;
      if (in.step > 2) s.risk[l] = decay * s.risk[l] + (1 - decay) * older;
      s.change[l] = change;
      s.error[l] = error;
    }
    growth[l] = 1 + s.interest[l];
  }
  for (std::size_t i = 0; i < in.agents; ++i) {
    double* coin = &s.coin[i * lanes];
    double* skill = &s.skill[i * lanes];
    const double u = 0.05 * in.skill_draw[i];
    for (std::size_t l = 0; l < lanes; ++l) {
      skill[l] = std::max(1.0, skill[l] * (1 + u * pull[l]));
      coin[l] *= growth[l];
    }
  }
}

// One step of all lanes, with the numbers of the scenario (Interpreting Emergent Extreme Events in MAS, B.1).
void advance(const step_input& in, economy& s) {
  step_sums sums;
  work_and_pay_tax(in, s, sums);
  consume(in, s, sums);
  adjust_prices(in, s, sums);
}

class econ_game final : public game {
 public:
  explicit econ_game(econ_trajectory t) : t_(std::move(t)) {
    threshold_ = t_.threshold;
    synthetic_ = t_.synthetic;
    players_.steps = t_.steps;
    for (std::size_t i = 0; i < t_.agents; ++i) players_.agent_names.push_back("household " + std::to_string(i + 1));
    for (const char* works : {"rests", "works"}) {
      for (const char* quarter : {"0-25%", "25-50%", "50-75%", "75-100%"}) {
        players_.behaviour_names.push_back(std::string(works) + ", consumes " + quarter);
      }
    }
    for (std::size_t s = 0; s < t_.steps; ++s) {
      for (std::size_t i = 0; i < t_.agents; ++i) {
        const std::size_t at = s * t_.agents + i;
        const unsigned quarter = std::min(3u, t_.rate[at] * 4u / 50u);
        const std::uint16_t type[1] = {static_cast<std::uint16_t>(t_.works[at] * 4 + quarter)};
        const bool is_safe = t_.works[at] == 1 && t_.rate[at] == 40;
        players_.add(static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(s), type, s + 1 == t_.steps || is_safe);
      }
    }
  }

  std::string_view kind() const override { return "econagent"; }
  std::string title() const override {
    return "econagent, " + std::to_string(t_.agents) + " agents, " + std::to_string(t_.steps) + " steps";
  }
  std::unique_ptr<evaluator> make_evaluator() const override;
  void add_content(digest& to) const override {
    to.add(std::string_view("econagent"));
    to.add(static_cast<std::uint64_t>(t_.agents));
    to.add(std::span<const double>(t_.skill));
    to.add(std::span<const std::uint8_t>(t_.works));
    to.add(std::span<const std::uint8_t>(t_.rate));
    to.add(std::span<const std::uint16_t>(t_.order));
    to.add(std::span<const double>(t_.skill_draw));
    to.add(std::span<const double>(t_.price_draw));
  }
  std::vector<double> risk_curve() const override;

  step_input input(std::size_t step, const lane_mask* kept) const {
    const std::size_t at = step * t_.agents;
    return {t_.agents,           step,     &t_.works[at], &t_.rate[at], &t_.order[at], &t_.skill_draw[at],
            t_.price_draw[step], kept + at};
  }
  void begin(economy& s) const {
    const double price = std::accumulate(t_.skill.begin(), t_.skill.end(), 0.0) / static_cast<double>(t_.agents);
    std::fill(s.coin.begin(), s.coin.end(), 0.0);
    for (std::size_t i = 0; i < t_.agents; ++i) std::fill_n(&s.skill[i * lanes], lanes, t_.skill[i]);
    for (std::size_t l = 0; l < lanes; ++l) {
      s.products[l] = s.change[l] = s.error[l] = s.risk[l] = 0;
      s.price[l] = price;
      s.interest[l] = first_interest;
    }
  }
  // h_T, after all steps but the last.
  static double final_risk(const economy& s, std::size_t lane) {
    return decay * s.risk[lane] + (1 - decay) * s.error[lane] * s.error[lane];
  }
  const econ_trajectory& recorded() const { return t_; }

 private:
  econ_trajectory t_;
};

class econ_evaluator final : public evaluator {
 public:
  explicit econ_evaluator(const econ_game& g) : g_(g), state_(g.recorded().agents) {}

  bool values(std::span<const lane_mask> kept, std::size_t count, double* out) override {
    g_.begin(state_);
    run(kept.data(), 0, count, out);
    return true;
  }

  // Replays the base once and keeps the state before each step. Toggles are sorted by time, and each batch of sixteen
  // starts from the state before its first step.
  bool flips(std::span<const std::uint8_t> base, std::span<const player_index> toggled, double* out) override {
    const std::size_t last = g_.recorded().steps - 1;
    masks_.resize(base.size());
    for (std::size_t p = 0; p < base.size(); ++p) masks_[p] = base[p] ? every_lane : 0;
    checkpoints_.resize(last, state_);
    g_.begin(state_);
    for (std::size_t t = 0; t < last; ++t) {
      checkpoints_[t] = state_;
      advance(g_.input(t, masks_.data()), state_);
    }
    const double unchanged = econ_game::final_risk(state_, 0);
    by_time_.clear();
    for (std::size_t k = 0; k < toggled.size(); ++k) {
      if (g_.players().step[toggled[k]] >= last) {
        out[k] = unchanged;
      } else {
        by_time_.push_back(static_cast<std::uint32_t>(k));
      }
    }
    std::stable_sort(by_time_.begin(), by_time_.end(),
                     [&](auto a, auto b) { return g_.players().step[toggled[a]] < g_.players().step[toggled[b]]; });
    for (std::size_t at = 0; at < by_time_.size(); at += lanes) {
      const std::size_t count = std::min(lanes, by_time_.size() - at);
      for (std::size_t k = 0; k < count; ++k) masks_[toggled[by_time_[at + k]]] ^= static_cast<lane_mask>(1u << k);
      const std::size_t from = g_.players().step[toggled[by_time_[at]]];
      state_ = checkpoints_[from];
      double v[lanes];
      run(masks_.data(), from, count, v);
      for (std::size_t k = 0; k < count; ++k) {
        out[by_time_[at + k]] = v[k];
        masks_[toggled[by_time_[at + k]]] ^= static_cast<lane_mask>(1u << k);
      }
    }
    return true;
  }

 private:
  void run(const lane_mask* kept, std::size_t from, std::size_t count, double* out) {
    for (std::size_t t = from; t + 1 < g_.recorded().steps; ++t) advance(g_.input(t, kept), state_);
    for (std::size_t l = 0; l < count; ++l) out[l] = econ_game::final_risk(state_, l);
  }

  const econ_game& g_;
  economy state_;
  std::vector<economy> checkpoints_;
  std::vector<std::uint32_t> by_time_;
};

std::unique_ptr<evaluator> econ_game::make_evaluator() const { return std::make_unique<econ_evaluator>(*this); }

std::vector<double> econ_game::risk_curve() const {
  economy s(t_.agents);
  begin(s);
  const std::vector<lane_mask> kept(size(), 1);  // lane 0 keeps all actions, lane 1 none
  std::vector<double> curve(t_.steps, 0.0);
  for (std::size_t t = 0; t < t_.steps; ++t) {
    advance(input(t, kept.data()), s);
    curve[t] = s.risk[0] - s.risk[1];
  }
  return curve;
}

}  // namespace

std::string econ_trajectory::fault() const {
  const std::size_t cells = agents * steps;
  if (agents == 0 || agents > 10'000) return "agents: 1 to 10000";
  if (steps < min_steps || steps > 100'000) return "steps: 4 to 100000";
  if (skill.size() != agents) return "skill: one number an agent";
  if (works.size() != cells || rate.size() != cells) return "works, rate: one row a step, one entry an agent";
  if (order.size() != cells || skill_draw.size() != cells)
    return "order, skill_draw: one row a step, one entry an agent";
  if (price_draw.size() != steps) return "price_draw: one number a step";
  const auto in_unit = [](double u) { return u >= 0 && u <= 1; };
  if (!std::all_of(skill.begin(), skill.end(), [](double s) { return s >= 1 && s < 1e9; })) return "skill: 1 to 1e9";
  if (!std::all_of(works.begin(), works.end(), [](auto w) { return w <= 1; })) return "works: 0 or 1";
  if (!std::all_of(rate.begin(), rate.end(), [](auto r) { return r <= 50; })) return "rate: 0 to 50, in units of 0.02";
  if (!std::all_of(skill_draw.begin(), skill_draw.end(), in_unit)) return "skill_draw: 0 to 1";
  if (!std::all_of(price_draw.begin(), price_draw.end(), in_unit)) return "price_draw: 0 to 1";
  for (std::size_t t = 0; t < steps; ++t) {
    std::vector<bool> seen(agents);
    for (std::size_t k = 0; k < agents; ++k) {
      const std::size_t i = order[t * agents + k];
      if (i >= agents || seen[i]) return "order: every agent once a step";
      seen[i] = true;
    }
  }
  return {};
}

std::unique_ptr<game> make_econ_game(econ_trajectory t) { return std::make_unique<econ_game>(std::move(t)); }

}  // namespace digd::shapley
